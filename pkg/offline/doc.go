// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package offline answers SyncReviews of objects that are in files, without a cluster. The controllers' own code does it, with
// a host that never changes (statichost).
package offline
