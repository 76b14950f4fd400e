// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// whyFinalized is why the finalizer is removed after the finalize hook is done.
const whyFinalized = "the finalize hook has nothing left to do"

// FinalizerStep returns the step that adds the controller's finalizer to the parent, or removes it,
// before a hook is called. It returns nil if the parent is as it has to be.
func FinalizerStep(snapshot *pipeline.Snapshot) (*pipeline.Step, error) {
	switch {
	case hasFinalizer(snapshot) == snapshot.NeedsFinalizer:
		return nil, nil
	case snapshot.NeedsFinalizer:
		return setFinalizers(snapshot, "the finalize hook is to be asked before the parent goes", func(current *object.Object) []string {
			if current.DeletionTimestamp != nil { // the host refuses new finalizers
				return current.Finalizers
			}
			return append(without(current.Finalizers, snapshot.Finalizer), snapshot.Finalizer)
		})
	case snapshot.Outside:
		return RemoveFinalizerStep(snapshot, pipeline.OutsideNamespaces)
	default:
		return RemoveFinalizerStep(snapshot, pipeline.NoFinalizeHook)
	}
}

// RemoveFinalizerStep returns the step that removes the controller's finalizer from the parent. It
// returns nil if the finalizer is not on the parent.
func RemoveFinalizerStep(snapshot *pipeline.Snapshot, why pipeline.UnfinalizedReason) (*pipeline.Step, error) {
	if !hasFinalizer(snapshot) {
		return nil, nil
	}
	return setFinalizers(snapshot, string(why), func(current *object.Object) []string { return without(current.Finalizers, snapshot.Finalizer) })
}

// addRemoveFinalizerStep adds the step that ends the controller's care for the parent, as the
// finalize hook has answered.
func addRemoveFinalizerStep(plan *pipeline.Plan, snapshot *pipeline.Snapshot) error {
	step, err := RemoveFinalizerStep(snapshot, whyFinalized)
	if err != nil {
		return err
	}
	step.AnyGeneration = false
	plan.Steps = append(plan.Steps, *step)
	return nil
}

// isFinalized reports whether a finalize hook has answered that nothing is left to do for a parent
// that still has the finalizer.
func isFinalized(snapshot *pipeline.Snapshot, response *pipeline.Response) bool {
	return snapshot.Finalizing && response.Finalized && hasFinalizer(snapshot)
}

// hasFinalizer reports whether the controller's finalizer is on the parent.
func hasFinalizer(snapshot *pipeline.Snapshot) bool {
	return slices.Contains(snapshot.Parent.Finalizers, snapshot.Finalizer)
}

func without(finalizers []string, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(other string) bool { return other == finalizer })
}

// setFinalizers returns the step that gives the parent the finalizers that change returns. It
// depends on no answer of a hook.
func setFinalizers(snapshot *pipeline.Snapshot, why string, change func(current *object.Object) []string) (*pipeline.Step, error) {
	parent := snapshot.Parent
	step := &pipeline.Step{
		Op: pipeline.Finalizer, Type: snapshot.ParentType, Observed: parent,
		Namespace: parent.Namespace, Name: parent.Name, Path: "metadata.finalizers", Why: why, AnyGeneration: true,
		Rebase: func(current *object.Object) ([]byte, error) {
			finalizers := change(current)
			if slices.Equal(finalizers, current.Finalizers) {
				return nil, nil
			}
			metadata, err := withFinalizers(current.Lookup("metadata"), finalizers)
			if err != nil {
				return nil, err
			}
			return object.WithMember(current.JSON(), "metadata", metadata)
		},
	}
	var err error
	step.Body, err = step.Rebase(parent)
	return step, err
}

// withFinalizers returns the JSON of metadata with other finalizers. It is for an update of the
// object, not for a patch: Metacontroller updates parents, and that is the right its users grant.
func withFinalizers(metadata []byte, finalizers []string) ([]byte, error) {
	list, err := json.Marshal(finalizers)
	if err != nil {
		return nil, err
	}
	return object.WithMember(metadata, "finalizers", list)
}
