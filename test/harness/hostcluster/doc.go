// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostcluster runs the control plane of a Kubernetes cluster on loopback: etcd, kube-apiserver
// with the aggregation layer, and kube-controller-manager. There are no nodes, so Pods are stored but
// never run.
//
// Start returns a Cluster. Cluster.Audit is the log of all requests, in which tests find what the server
// under test has sent.
package hostcluster
