// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// DrainFinalizer is on every CompositeController and DecoratorController with a finalize hook. It keeps a controller
	// that is being deleted until the controller's own finalizer is off all objects that carry it; without the
	// controller they could never be deleted.
	DrainFinalizer = GroupName + "/drain"

	// SkipDrainAnnotation, with the value "true" on a controller, has it deleted at once: its finalizer stays on the
	// objects that carry it, for somebody else to take off. It works before and after the deletion.
	SkipDrainAnnotation = GroupName + "/skip-drain"
)
