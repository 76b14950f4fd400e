// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aggregation runs metacontroller-apiserver outside a cluster and joins it to the cluster's
// API through the aggregation layer. A Server is the process; a Registration is what the cluster
// must know about it. Tests, the demo and make run use it.
package aggregation
