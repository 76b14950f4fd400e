// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisions knows what a ControllerRevision of a parent looks like: its name and
// labels, which fields of the parent it records and how the parent is restored from them,
// which children it names, and which parent it belongs to.
//
// The functions are given a snapshot, a parent or a stored ControllerRevision and return
// values; the package is pure. Package store reads and writes ControllerRevisions in the API,
// and package rollout decides what is written.
//
// Stored is a ControllerRevision as the API stores it. Write is one change of the stored ones.
package revisions
