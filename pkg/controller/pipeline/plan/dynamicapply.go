// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// dynamicApply is the engine that merges three ways and writes whole children.
type dynamicApply struct {
	*parent
	// schema is how the host describes the children; nil if it does not.
	schema *openapi.Type
}

func (d dynamicApply) create(desired *object.Object) (pipeline.Step, error) {
	body, err := d.newChild(desired)
	return pipeline.Step{Op: pipeline.Create, Body: body, Why: whyMissing}, err
}

func (d dynamicApply) change(method Method, observed, desired *object.Object) (pipeline.Step, error) {
	if observed.Applied != nil && !recordsLastApplied(observed) {
		return d.toDynamicApply(observed)
	}
	result, err := d.merge(d.schema, observed, desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	// What differs although the hook wants what it wanted before was changed by the host, or by somebody
	// who knows that OnDelete leaves it so.
	if !result.annotationDiffers && (!result.contentDiffers || method == OnDelete) {
		return keep(observed, whyUpToDate), nil
	}
	step := pipeline.Step{Op: pipeline.Update, Observed: observed, Path: result.path, Why: "it differs at " + result.path}
	if method != InPlace && result.contentDiffers {
		step.Op, step.Successor = pipeline.Recreate, func() ([]byte, error) { return object.Canonical(result.merged) }
		step.Body, err = d.newChild(desired)
		return step, err
	}
	// Under Recreate too, the annotation follows what the hook wants: a field that is not in it is
	// never removed. The annotation alone is no reason to replace a child.
	step.Body, err = object.Canonical(result.merged)
	return step, err
}

// newChild returns the JSON to create a desired child with.
func (p *parent) newChild(desired *object.Object) ([]byte, error) {
	content, err := p.content(desired)
	if err != nil {
		return nil, err
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		restoreFields(metadata, nil, systemFields[:]...) // a hook may answer a copy of another object
	}
	if err := setLastApplied(content, content); err != nil {
		return nil, err
	}
	p.own(content)
	return object.Canonical(content)
}

// mergeResult is what dynamic apply makes of an observed child.
type mergeResult struct {
	// merged is the child as it has to be.
	merged map[string]any
	// contentDiffers is true if merged differs from what is observed. annotationDiffers is
	// true if the annotation with what was last applied does.
	contentDiffers, annotationDiffers bool
	// path is the first field that differs.
	path string
}

// merge merges what the hook wants into an observed child. The base of the three-way merge is what
// was last applied. The schema is how the host describes the child; nil if it does not.
func (p *parent) merge(schema *openapi.Type, observed, desired *object.Object) (*mergeResult, error) {
	want, err := p.content(desired)
	if err != nil {
		return nil, err
	}
	have, err := observed.Decode()
	if err != nil {
		return nil, err
	}
	last, err := takeLastApplied(observed, have, want)
	if err != nil {
		return nil, err
	}
	child, err := rootOf(schema, observed)
	if err != nil {
		return nil, err
	}
	base, goal := p.normalize(have, runtime.DeepCopyJSON(last), runtime.DeepCopyJSON(want))
	merged := child.merge(runtime.DeepCopyJSON(have), base, goal).(map[string]any)
	restoreReadOnlyFields(merged, have)

	result := &mergeResult{merged: merged}
	result.path, result.contentDiffers = difference(have, merged)
	if err := setLastApplied(merged, want); err != nil {
		return nil, err
	}
	_, result.annotationDiffers = difference(withoutSystemFields(last), withoutSystemFields(want))
	if result.annotationDiffers && !result.contentDiffers {
		result.path = "metadata.annotations[" + object.LastAppliedAnnotation + "]"
	}
	return result, nil
}

// systemFields are the fields of metadata that belong to the API server. A hook cannot change them.
var systemFields = [...]string{"selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}

// restoreReadOnlyFields restores the fields that merging must not change.
func restoreReadOnlyFields(merged, observed map[string]any) {
	restoreFields(merged, observed, "status")
	mergedMeta, _ := merged["metadata"].(map[string]any)
	observedMeta, _ := observed["metadata"].(map[string]any)
	if mergedMeta == nil {
		merged["metadata"] = maps.Clone(observedMeta)
		return
	}
	restoreFields(mergedMeta, observedMeta, systemFields[:]...)
	// Name and namespace identify the child. The host drops a namespace that the hook gives a
	// cluster-scoped child.
	restoreFields(mergedMeta, observedMeta, "name", "namespace")
}

// withoutSystemFields returns content without the fields that merging never applies. If a hook
// echoes its children, these fields change in its answer with every write.
func withoutSystemFields(content map[string]any) map[string]any {
	content = maps.Clone(content)
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		restoreFields(metadata, nil, systemFields[:]...)
		content["metadata"] = metadata
	}
	return content
}

// restoreFields gives fields of merged the values that they have in observed, and removes those
// that observed does not have.
func restoreFields(merged, observed map[string]any, names ...string) {
	for _, name := range names {
		if value, there := observed[name]; there {
			merged[name] = value
		} else {
			delete(merged, name)
		}
	}
}
