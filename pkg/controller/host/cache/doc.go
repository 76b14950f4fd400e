// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps the objects of the host, and shows each user the ones it wants.
//
// # Informers
//
// The objects of a type are watched once and kept once, whoever wants how many of them.
// Each user says by label selectors which it wants and is shown only those. The host is
// asked for what all users of a type want taken together: of each label that matters to
// all of them, the values that do for any. It may send more than is wanted, since it can
// be asked for one selector only, and never sends less.
//
// When a user comes for whom that is too little, a second, wider watch is begun beside the
// first, on which the others go on. It takes the place of the first when it has listed
// everything and has caught up with what the first has shown: nobody is taken back in
// time. Whoever was there is told only what has changed between the two, and the new user
// that all is there. When users go, the watch is narrowed the next time the host ends it,
// which tells nobody anything.
//
// # Who may select
//
// Only what a user can do without may be left out.
//
//   - Parents: what is not selected is nothing to a controller, and a parent that leaves its
//     selection is forgotten as if it were deleted. But a controller with a finalize hook
//     finalizes it then, for as long as it carries the controller's finalizer, and no
//     selector finds finalizers: such a controller watches all. One that has no finalize
//     hook any more takes finalizers off that are left; objects that it does not select are
//     looked through once for that. Later it would miss one that somebody else puts there.
//   - Children: a child that has lost the labels by which it was claimed is still to be let
//     go, and an object of a child's name that is nobody's child still stands in its way.
//     They are watched wholly. So are attachments, which are known by an annotation.
//   - Related objects: the rules are found out one parent at a time, and each new selector
//     would have the objects listed again. They are watched wholly.
//
// An object that was written is waited for until the watch is up to the version of the
// write, or does not show the object: if the write has taken it out of the selection, the
// host tells its removal with that version.
package cache
