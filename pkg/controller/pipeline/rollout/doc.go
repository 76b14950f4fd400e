// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides rolling updates: which version of their parent the children are at,
// and which of them moves to the latest version next. It is pure: it does no I/O, and the
// caller passes the time. Its only memory is the parent's ControllerRevisions, each of which names
// the children that are at one version of the parent. So a rollout can be interrupted at any point.
//
// # Which child moves
//
// A child is in motion while it differs from what its revision wants, or is not healthy: it is missing,
// not updated yet, or being deleted, or it fails a status check of its kind.
// Children move to the latest revision in the order in which the hook's answer for that revision lists
// them. All rolling kinds share this order. The next child moves when fewer children are in motion
// than its kind allows. New children start at the latest revision. Children that already match it
// move at once. A child that does not move keeps its revision, even if it is deleted and recreated. A child that exists
// and that no revision names, because the revisions were lost or are not restored yet, stays as it is until it moves.
//
// Metacontroller looks only at the children that have moved. Here the children at older revisions count,
// too: a rollout that was replaced or undone may have left some in motion, and moving the first child in
// order would set one more in motion. In this case a child that is already in motion moves before its
// turn, because its revision may be the fault.
//
// # How to use it
//
// A sync of a parent for which Rules.Active is true uses it like this:
//
//  1. Open takes the snapshot, with the children claimed, and all ControllerRevisions in the namespace that
//     Rules.NamespaceOf returns. It returns the versions of the parent that matter, the latest one first. For a parent
//     without rolling kinds, Abandon returns the writes that remove its revisions instead.
//  2. The caller calls the customize hook, and then the sync or finalize hook, with the Parent of each revision and the
//     same children. Any error ends the sync. Without a rollout there is one revision, and its Parent is the
//     snapshot's.
//  3. Decide takes the answers and a function that reports whether a child is up to date. The engine that would write
//     the child provides this function, because the engines differ in what they write.
//  4. The writes of the Decision are made one after another, with the resource version as a precondition, and with the
//     UID alone when deleting. The first that fails ends the sync: no child may be written before the revisions record
//     which version it is at. The next sync must see these writes before it calls Open.
//  5. The Response of the Decision replaces the hook's answer. The plan is made from the snapshot and this Response.
//     Children of kinds that do not roll are in it as the latest answer has them.
//
// The next sync starts when a child changes.
package rollout
