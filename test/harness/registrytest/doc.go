// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registrytest is what the tests of the registry share: objects written as YAML (Decode),
// writes sent through a strategy as the generic registry does (Write), tables as kubectl get prints
// them (Table), and an etcd inside the test process (StartStorage).
package registrytest
