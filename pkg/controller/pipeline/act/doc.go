// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package act carries out a plan: it takes the steps and returns an Outcome for each.
//
// A Snapshot and a Plan come in, Outcomes go out. The package writes to the host, and it reads
// from the host only what a step's safety depends on: the live parent before an adoption, the
// owner of a name that is not free, and dry runs. It does not read caches and decides nothing:
// which steps there are, with which bodies, is in the plan.
//
// Actor.Act is the entry. prerequisites.go decides which steps may still be taken after others
// failed.
package act
