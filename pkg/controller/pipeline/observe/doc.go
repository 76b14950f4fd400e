// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe is the first stage of a sync: it takes the key of a parent and returns a
// Snapshot with the parent and its children. It only reads the caches of the host; it sends no
// request.
//
// Observer observes the parents of one controller. Claims decides which objects are the children of which parent:
// LabelClaims for a CompositeController, AnnotationClaims for a DecoratorController. OwnWrites are the writes of
// earlier syncs that the caches may not show yet.
//
// triggers.go decides which parents are synced when an object changes. Package related does the same for the objects
// that customize hooks ask for, and adds them to the Snapshot.
package observe
