// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node does the work of a node and its kubelet, for a host cluster that has none: it reports every
// Pod as running and ready, and those that end by themselves as succeeded. No container runs.
package node
