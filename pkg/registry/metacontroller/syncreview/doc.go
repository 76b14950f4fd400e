// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package syncreview serves SyncReviews. A review is created, answered and not stored: in comes its spec, which is
// validated here, and out comes the review with its status, which the controller loop of the process has made.
package syncreview
