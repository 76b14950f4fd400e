// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the Prometheus metrics of work queues (Queue) and of the reconcilers of
// controller objects (Reconciles), under the names that users of Metacontroller know from
// controller-runtime. It only counts; the owners register what they want shown.
package metrics
