// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy tests how tenants of a cluster are kept apart: as whom a controller acts, and what it
// may reach. The server has exactly the rights of artifacts/deploy/overlays/tenants, and the controllers
// act as service accounts that have few.
package tenancy
