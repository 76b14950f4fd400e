// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides rolling updates: at which version of their parent children are,
// and which of them moves to the latest version next. It does no I/O, and the time is told
// to it. Its memory are the parent's ControllerRevisions, so that it can be interrupted
// anywhere: each names the children that are at one version of the parent.
//
// # Which child moves
//
// A child is in motion while it is not what its revision wants of it or not healthy: missing,
// not updated yet, being deleted, or without what the status checks of its kind ask for.
// Children move to the latest revision in the order in which its answer lists them,
// whatever rolling kind they are of, the next one when fewer are in motion than its kind
// allows. New children start there, and children that are already as it wants them move at
// once. A child that does not move keeps its revision, also when it is deleted and comes back.
//
// Metacontroller looks only at the children that have moved. Here those of older revisions
// count too: a rollout that another one has overtaken, or that was taken back, can have left
// some in motion, and to move the first in order would make them one more. In such a case a
// child that is in motion anyway moves before its turn, for its revision may be what is wrong.
//
// # How to use it
//
// A sync of a parent for which Rules.Active tells so uses it like this:
//
//  1. Open is given the snapshot, with the children claimed, and all ControllerRevisions in
//     the namespace that Rules.NamespaceOf names. It returns the versions of the parent that
//     matter, the latest one first. Of a parent without rolling kinds, Abandon says which
//     revisions are to go instead.
//  2. The customize hook, and then the sync or finalize hook, is asked about the Parent of
//     each revision, with the same children. Any error ends the sync. If there is no
//     rollout there is one revision, and its Parent is the snapshot's.
//  3. Decide is given the answers and a function that tells whether a child is up to date.
//     That function belongs to the engine that would write the child, as what one engine
//     has to write another has not.
//  4. The writes of the Decision are made one after another, with the resource version as a
//     precondition, and with the UID alone when deleting. The first that fails ends the sync:
//     no child may be written before the revisions say where it belongs. The next sync must
//     see these writes before it calls Open.
//  5. The Response of the Decision takes the place of the hook's answer: the plan is made
//     from the snapshot and it. Non-rolling kinds are in it as the latest answer has them.
//
// Children wake the next sync by changing. No timer is needed.
package rollout
