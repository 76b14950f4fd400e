// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review answers SyncReviews.
//
// It takes a SyncReview and its author, and returns the SyncReview with its status. Reviews finds the controller that
// is reviewed (subject.go): one that runs here, or one that is made for the review, of the stored spec or of a
// candidate (candidate.go). It previews a sync of each parent (package preview). It converts the result to API types
// (syncing.go, steps.go).
//
// A review shows nothing that its author may not get (permit.go). The package limits the number, the duration and the
// size of reviews. It sends only dry-run writes: to the host, and, for candidates and ControllerRevisions, to the
// server's own API.
package review
