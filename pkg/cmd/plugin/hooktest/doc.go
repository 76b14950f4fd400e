// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hooktest runs tests of hooks that are written as files, without a cluster.
//
// A Suite is read from a folder: the controllers with their CustomResourceDefinitions, and the cases in the folder tests. A case
// (case.go) says what exists and what is expected. What exists is completed (given.go) as a cluster and earlier syncs would
// have it, and a sync of the parent is reviewed by package offline, whose calls of hooks go to a Caller. What comes of it
// is put into the words of a case (outcome.go), and compared with what is expected (compare.go).
package hooktest
