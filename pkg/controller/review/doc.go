// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review answers SyncReviews.
//
// It takes a SyncReview and its author, and returns the SyncReview with its status. Reviews finds the controller that
// is reviewed (subject.go): one that runs here, or one that is made for the review, of the stored spec or of a
// candidate (candidate.go). It previews a sync of each parent (package preview), and puts what comes of it into
// the words of the API (syncing.go and steps.go).
//
// A review shows nothing that its author may not get (permit.go). Reviews are bounded in number, time and size. They
// write nothing to the host but dry runs, and nothing to the own API but dry runs of candidates.
package review
