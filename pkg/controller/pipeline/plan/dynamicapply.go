// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// dynamicApply is the engine that merges three ways and writes complete children.
type dynamicApply struct {
	*parent
	// schema is the host's schema of the children; nil if there is none.
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
	result, err := d.merge(observed, desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	// If the child differs although the hook wants the same as before, the host has changed it, or a user who knows
	// that OnDelete does not change it back.
	if !result.annotationDiffers && (!result.contentDiffers || method == OnDelete) {
		return keep(observed, whyUpToDate), nil
	}
	step := pipeline.Step{Op: pipeline.Update, Observed: observed, Path: result.path, Why: "it differs at " + result.path}
	if method.replaces() && result.contentDiffers && !result.onlyMarks {
		step.Op, step.Successor = pipeline.Recreate, func() ([]byte, error) { return object.Canonical(result.merged) }
		step.Body, err = d.newChild(desired)
		return step, err
	}
	if result.lastUnknown && hasRecord(observed) {
		step.Why = whyMalformed
	}
	// Recreate, too, keeps the annotation current, because a field that is not in it is never removed. The
	// annotation and marks are not a reason to replace a child.
	step.Body, err = object.Canonical(result.merged)
	return step, err
}

const whyMalformed = "its annotation " + object.LastAppliedAnnotation + " cannot be read, so fields that the hook " +
	"has left out since it was written stay"

// markListed records on a child that the hook has listed it, as if nothing but its identity had been applied.
func (d dynamicApply) markListed(observed *object.Object) (pipeline.Step, error) {
	body, err := object.Canonical(identityOf(observed))
	return pipeline.Step{Op: pipeline.ToDynamicApply, Observed: observed, Body: body, Why: whyMarked}, err
}

// toDynamicApply returns the step that moves a child from server-side apply to dynamic apply: the record of the last
// applied configuration becomes the configuration that was applied, except for the owner reference to the parent. A
// later sync writes the remaining differences.
func (d dynamicApply) toDynamicApply(observed *object.Object) (pipeline.Step, error) {
	applied, err := appliedFields(observed)
	if err != nil {
		return pipeline.Step{}, err
	}
	have, err := observed.Decode()
	if err != nil {
		return pipeline.Step{}, err
	}
	child := unstructured.Unstructured{Object: applied}
	others := slices.DeleteFunc(child.GetOwnerReferences(), d.owns)
	child.SetOwnerReferences(nil)
	if len(others) > 0 {
		child.SetOwnerReferences(others)
	}
	body, err := encodeLastApplied(applied, have)
	if err != nil {
		return pipeline.Step{}, fmt.Errorf("child %s: %w", observed, err)
	}
	const why = "it was written by server-side apply"
	return pipeline.Step{Op: pipeline.ToDynamicApply, Observed: observed, Body: []byte(body), Why: why}, nil
}

// newChild returns the JSON that creates a desired child.
func (d dynamicApply) newChild(desired *object.Object) ([]byte, error) {
	content, err := d.content(desired)
	if err != nil {
		return nil, err
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		restoreFields(metadata, nil, systemFields[:]...) // the hook may return a copy of another object
	}
	if err := setLastApplied(content, content); err != nil {
		return nil, err
	}
	d.own(content)
	return object.Canonical(content)
}

// mergeResult is the result of merging a desired child into the observed one.
type mergeResult struct {
	// merged is the merged child. If it differs, it has the record of what was last applied.
	merged map[string]any
	// contentDiffers is true if merged differs from the observed child. annotationDiffers is true if their records of
	// what was last applied differ. onlyMarks is true if the content differs only in marks. lastUnknown is true if the
	// child has no readable record of what was last applied.
	contentDiffers, annotationDiffers, onlyMarks, lastUnknown bool
	// path is the first field that differs.
	path string
}

// merge merges a desired child into the observed one. The base of the three-way merge is the last applied
// configuration.
func (d dynamicApply) merge(observed, desired *object.Object) (*mergeResult, error) {
	want, err := d.content(desired)
	if err != nil {
		return nil, err
	}
	have, err := observed.Decode()
	if err != nil {
		return nil, err
	}
	last, err := takeLastApplied(have, want)
	if err != nil {
		return nil, err
	}
	child, err := rootOf(d.schema, observed)
	if err != nil {
		return nil, err
	}
	base, goal := d.normalize(have, runtime.DeepCopyJSON(last), runtime.DeepCopyJSON(want))
	merged := child.merge(runtime.DeepCopyJSON(have), base, goal).(map[string]any)
	restoreReadOnlyFields(merged, have)

	result := &mergeResult{merged: merged, lastUnknown: last == nil}
	result.path, result.contentDiffers = difference(have, merged)
	result.onlyMarks = differOnlyInMarks(d.schema, result.path, have, merged)
	_, result.annotationDiffers = difference(withoutSystemFields(last), withoutSystemFields(want))
	switch {
	case !result.contentDiffers && !result.annotationDiffers:
		return result, nil // nothing is written
	case !result.contentDiffers:
		result.path = "metadata.annotations[" + object.LastAppliedAnnotation + "]"
	}
	return result, setLastApplied(merged, want)
}

// normalize converts the last applied and the desired configuration to the form that the host gives them, before they
// are merged. It changes both arguments.
func (d dynamicApply) normalize(observed, lastApplied, desired map[string]any) (last, want map[string]any) {
	have, _ := observed["metadata"].(map[string]any)
	last, _ = lastApplied["metadata"].(map[string]any)
	want, _ = desired["metadata"].(map[string]any)
	d.keepOwner(last)
	keepFieldsOfOthers(have, last, want)
	if want["ownerReferences"] != nil {
		d.own(desired)
	}
	if isSecret(desired) {
		foldStringData(lastApplied)
		foldStringData(desired)
	}
	return lastApplied, desired
}

// keepOwner removes the parent from the owners that were last applied. Otherwise a hook that no longer lists the
// parent among a child's owners would make the parent lose the child.
func (d dynamicApply) keepOwner(last map[string]any) {
	owners, ok := last["ownerReferences"].([]any)
	if !ok {
		return
	}
	last["ownerReferences"] = slices.DeleteFunc(owners, func(owner any) bool {
		reference, _ := owner.(map[string]any)
		return reference["uid"] == string(d.UID)
	})
}

// keepFieldsOfOthers adds empty labels, annotations, owners or finalizers to desired if the hook listed some earlier
// and now leaves out the field. Merging then removes only the entries that were applied. Otherwise it would remove the
// entire field, as Metacontroller does, with the entries of others.
func keepFieldsOfOthers(observed, lastApplied, desired map[string]any) {
	for _, name := range [...]string{"labels", "annotations", "ownerReferences", "finalizers"} {
		if desired == nil || desired[name] != nil || lastApplied[name] == nil {
			continue
		}
		switch observed[name].(type) {
		case map[string]any:
			desired[name] = map[string]any{}
		case []any:
			desired[name] = []any{}
		}
	}
}

// foldStringData writes stringData of a Secret into data, as the host does. The host never returns
// stringData.
func foldStringData(secret map[string]any) {
	texts, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := secret["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for name, value := range texts {
		text, ok := value.(string)
		if !ok {
			return // the host will report the error
		}
		data[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(secret, "stringData")
	secret["data"] = data
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
