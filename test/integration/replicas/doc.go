// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas tests several servers at one cluster: three that share one storage, an etcd cluster of three
// members, and which of them runs the controllers when one stops, dies or sleeps; two with storages of their own; and
// two that run different controllers.
package replicas
