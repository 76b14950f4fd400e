// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parentsync serves Syncs, the rows for every parent of a controller. It describes the kind to package live,
// which makes the REST storage of it: kind.go names its resource and the fields that are selected by, and columns.go
// what kubectl get prints.
package parentsync
