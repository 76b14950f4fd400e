// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package move moves all objects from one storage to another one, while no server uses either: from a data
// directory to an etcd, or the other way.
//
// Resource versions are revisions of etcd, and clients go by them. So before anything is copied, the revisions of
// the other storage are raised above those of the first one, and what is before counts as compacted: a client that
// watches is told to list again.
//
// A storage that has not all objects yet is marked, and no server starts with it. Whoever moves them again replaces
// what is there.
package move
