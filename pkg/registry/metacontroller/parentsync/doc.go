// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parentsync serves Syncs, the rows for every parent of a controller. It describes the kind to package live,
// which makes its REST storage: its resource, the supported field selectors, and what kubectl get prints.
package parentsync
