// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package syncqueue is the work queue of one running controller with its workers.
//
// Keys of parents come in with Enqueue. The workers of Run call the SyncFunc with one parent after
// the other, and its Result says when the parent is synced again. The file turns.go decides which of
// the parents that wait is next. The package touches nothing but its metrics.
package syncqueue
