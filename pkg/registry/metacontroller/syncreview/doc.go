// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package syncreview serves SyncReviews. It validates the spec of a review, and answers the review with the status
// from the controller loop of the process. It does not store the review.
package syncreview
