// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rows creates Syncs, which show users the progress of each parent.
//
// Rows has the Syncs of one controller. A sync of a parent leaves a Record, and its steps in the StepLog. When a client
// reads a Sync, Rows makes it from these, and from the cache, the queue and the health of the controller. Syncs has the
// Rows of all controllers of the process, and notifies its followers of changes.
package rows
