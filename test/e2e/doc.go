// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the server as it is installed: its image and its manifests, in a cluster with nodes, where
// hooks, parents and children run for real. `make e2e` makes the cluster and runs the tests.
package e2e
