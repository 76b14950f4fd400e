// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// whyFinalized is why a finalizer goes in the end.
const whyFinalized = "the finalize hook has nothing left to do"

// FinalizerStep returns the step that puts the controller's finalizer on the parent, or takes it
// off, before a hook is asked. It is nil if the parent is as it has to be.
func FinalizerStep(snapshot *pipeline.Snapshot) (*pipeline.Step, error) {
	switch {
	case hasFinalizer(snapshot) == snapshot.NeedsFinalizer:
		return nil, nil
	case snapshot.NeedsFinalizer:
		finalizers := append(slices.Clone(snapshot.Parent.Finalizers), snapshot.Finalizer)
		return setFinalizers(snapshot, finalizers, "the finalize hook is to be asked before the parent goes")
	default:
		return RemoveFinalizerStep(snapshot, "the controller has no finalize hook")
	}
}

// RemoveFinalizerStep returns the step that takes the controller's finalizer off the parent. It is
// nil if the parent does not carry it.
func RemoveFinalizerStep(snapshot *pipeline.Snapshot, why string) (*pipeline.Step, error) {
	if !hasFinalizer(snapshot) {
		return nil, nil
	}
	return setFinalizers(snapshot, without(snapshot.Parent.Finalizers, snapshot.Finalizer), why)
}

func hasFinalizer(snapshot *pipeline.Snapshot) bool {
	return slices.Contains(snapshot.Parent.Finalizers, snapshot.Finalizer)
}

func without(finalizers []string, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(other string) bool { return other == finalizer })
}

func setFinalizers(snapshot *pipeline.Snapshot, finalizers []string, why string) (*pipeline.Step, error) {
	parent := snapshot.Parent
	metadata, err := withFinalizers(parent.Lookup("metadata"), finalizers)
	if err != nil {
		return nil, err
	}
	body, err := object.WithMember(parent.JSON(), "metadata", metadata)
	if err != nil {
		return nil, err
	}
	return &pipeline.Step{
		Op: pipeline.Finalizer, Type: snapshot.ParentType, Observed: parent,
		Namespace: parent.Namespace, Name: parent.Name, Body: body, Path: "metadata.finalizers", Why: why,
	}, nil
}

// withFinalizers is the JSON of metadata with other finalizers. It is for a replacement
// of the object and no patch: Metacontroller has always replaced parents, and what its
// users grant is the right to update them.
func withFinalizers(metadata []byte, finalizers []string) ([]byte, error) {
	list, err := json.Marshal(finalizers)
	if err != nil {
		return nil, err
	}
	return object.WithMember(metadata, "finalizers", list)
}
