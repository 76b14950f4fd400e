// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rows makes Syncs: what users see of each parent of a running controller.
//
// Rows are the rows of one controller. A sync leaves a Record, and its steps in the StepLog; a row is made of these, of
// the cache, the queue and the health of the controller when a client reads it. Syncs has the rows of all controllers
// of the process, and notifies its followers of changes.
package rows
