// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package related observes the objects that customize hooks ask for in addition to parents and
// children.
//
// Observer takes the snapshot of a parent and an Answer. It calls the customize hook when the Answer is no longer
// valid, acquires views of the types that its rules name, and adds the objects that the rules select to the
// snapshot. An event of such an object starts a sync of the parents whose rules select it. The package reads caches
// of the host and asks for its types; it writes nothing.
//
// Hooks see only what they may see: rule.go refuses rules for types that the spec does not list, and permission.go
// refuses rules for objects that the controller's service account may not read.
package related
