// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

// UnfinalizedReason is why a controller's finalizer is removed from a parent although the finalize hook has not
// answered that it is done.
type UnfinalizedReason string

const (
	// NoFinalizeHook: the spec had a finalize hook before.
	NoFinalizeHook UnfinalizedReason = "the controller has no finalize hook any more"
	// OutsideNamespaces: the namespaces of the controller were limited.
	OutsideNamespaces UnfinalizedReason = "the parent is in none of the controller's namespaces"
	// TypeNotSelected: the spec names other types of parents.
	TypeNotSelected UnfinalizedReason = "the controller is no longer for objects of this type"
	// ControllerDeleted: the controller object is being deleted.
	ControllerDeleted UnfinalizedReason = "the controller is being deleted"
)
