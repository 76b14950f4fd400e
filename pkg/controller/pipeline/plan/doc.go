// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a sync changes in the host.
//
// A Snapshot and the hook's Response come in, a Plan goes out: a list of steps, each with its
// reason. The package is pure: it does no I/O and knows no client, so a plan can be shown as well
// as carried out. The only thing it changes is the UpToDateCache that the caller hands in.
//
// Where to start:
//   - Composite and Decorator make the plan of each kind of controller.
//   - children.go decides which children are created, kept, changed and deleted.
//   - updatestrategy.go has the update methods and names the engines that change a child:
//     dynamicapply.go and serversideapply.go. Package rollout decides when a rolling method
//     comes to a child.
//     outdated.go finds the children that OnDelete leaves alone.
//   - meanttype.go finds the type that was probably meant by a child of an undeclared one.
//   - claim.go adopts and releases children. known.go tells those that may be deleted from those of others.
//   - merge.go is the three-way merge of dynamic apply, with mergelists.go and location.go.
//   - lastapplied.go is the record of what was applied, and secretrecord.go keeps the values of
//     Secrets out of it.
//   - status.go, metadata.go and finalizer.go are about the parent itself.
//   - unknownfields.go finds what is desired and the host would drop; fieldwarnings.go makes
//     warnings of that, hostwarnings.go of what the host itself warned of, and writewarnings.go of
//     both when they are new.
//   - snapshothash.go hashes what a plan depends on, so that a sync can skip a plan that was made
//     before.
package plan
