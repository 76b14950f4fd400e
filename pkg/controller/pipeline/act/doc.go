// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package act carries out a plan.
//
// A Snapshot and a Plan come in. Out go the Outcomes of the steps that were taken: a Keep needs
// none, and a step is left out if a step that it depends on failed. The package writes to the host, and it reads
// from the host only what a step's safety depends on: the live parent before an adoption, the
// owner of a name that is not free, and dry runs. It does not read caches. Which
// steps there are, with which bodies, is in the plan.
//
// Actor.Act is the entry. prerequisites.go says which steps depend on others.
package act
