// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas tests several servers that share one storage, an etcd cluster of three members: which of
// them runs which controller, and what happens when one stops, dies, sleeps or joins.
package replicas
