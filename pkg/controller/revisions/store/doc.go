// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store reads the ControllerRevisions of all parents from an informer of our own API,
// and writes them there.
//
// Store is shared by all parent controllers. OwnWrites are the writes of one parent's syncs
// that the informer may not show yet.
package store
