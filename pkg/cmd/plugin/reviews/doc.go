// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reviews has SyncReviews answered: all parents of a controller page after page, and with the answers of a
// hook that the server does not reach.
//
// The spec of a review comes in; answered SyncReviews go out, one for each page. Whoever answers is a Reviewer: the
// API of a cluster, or package offline.
package reviews
