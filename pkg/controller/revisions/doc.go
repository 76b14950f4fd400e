// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisions defines the ControllerRevisions of a parent: their names and labels, which fields
// of the parent they record and how to restore the parent from them, which children they name, and
// which parent they belong to.
//
// The package is pure: its functions take a snapshot, a parent or a stored ControllerRevision, and
// return values. Package store reads and writes ControllerRevisions in the API, and package rollout
// decides which ones to write.
//
// Stored is a ControllerRevision as the API stores it. Write is one change of the stored ones.
package revisions
