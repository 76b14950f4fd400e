// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package act carries out a plan.
//
// Actor.Act takes the steps of a Plan and returns an Outcome for each of them, except for those that keep an
// object, and those that depend on a step that failed. The plan says which steps there are, and what each one
// sends. The package writes to the host, and reads from it only what makes a step safe: the live parent before
// an adoption, the owner of a name that is taken, and the results of dry runs. It does not read caches.
//
// order.go decides which steps wait for others, children.go and parent.go take the steps that need more than one
// request, and errors.go classifies the errors of the host.
package act
