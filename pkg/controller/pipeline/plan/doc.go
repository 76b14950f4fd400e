// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a sync changes in the host.
//
// It takes a Snapshot and the hook's Response, and returns a Plan: a list of steps, each with its reason. The package
// is pure: it does no I/O and uses no client, so a plan can be shown as well as carried out. It changes nothing but the
// UpToDateCache that the caller passes in.
//
// Where to start:
//   - plan.go makes the plan for each kind of controller: Composite and Decorator. It also hashes what a
//     plan depends on, so that a sync can skip a plan that was made before.
//   - parent.go has what a parent gives its children: namespace, labels and owner references. It adopts and
//     releases children.
//   - status.go plans the writes of the status and the finalizers of a parent, target.go those of a
//     decorator's target.
//   - children.go decides which children are created, kept, changed and deleted. leftalone.go is about the
//     children that the plan does not delete or change although they are not what the hook wants.
//   - updatestrategy.go has the update methods, and the engines that change a child. The engines are in
//     dynamicapply.go and serversideapply.go. Package rollout decides when a rolling method
//     reaches a child.
//   - merge.go is the three-way merge of dynamic apply, lastapplied.go the record of what was applied, and
//     compare.go reports whether two values mean the same to the host.
//   - warnings.go warns of fields that the host does not know, and passes on the host's own warnings.
//   - uptodatecache.go remembers what needs no write.
package plan
