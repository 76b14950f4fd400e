// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// change is what dynamic apply makes of an observed child.
type change struct {
	// merged is the child as it shall be.
	merged map[string]any
	// content tells that merged differs from what is observed, and annotation that
	// only the record of what was last applied does; path is where.
	content, annotation bool
	path                string
}

// systemFields belong to the API server; a hook cannot change them.
var systemFields = [...]string{"selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}

// merge merges what the hook wants into an observed child, three ways: with what
// was applied last as the base. Of is how the host describes the child, nil if it does
// not.
func (p *parent) merge(of *openapi.Type, observed, desired *object.Object) (*change, error) {
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
	child, err := rootOf(of, observed)
	if err != nil {
		return nil, err
	}
	base, goal := p.normalize(have, runtime.DeepCopyJSON(last), runtime.DeepCopyJSON(want))
	merged := child.merge(runtime.DeepCopyJSON(have), base, goal).(map[string]any)
	restore(merged, have)

	result := &change{merged: merged}
	result.path, result.content = difference(have, merged)
	if err := setLastApplied(merged, want); err != nil {
		return nil, err
	}
	_, result.annotation = difference(withoutSystemFields(last), withoutSystemFields(want))
	if result.annotation && !result.content {
		result.path = "metadata.annotations[" + object.LastAppliedAnnotation + "]"
	}
	return result, nil
}

// newChild is the JSON to create a desired child with.
func (p *parent) newChild(desired *object.Object) ([]byte, error) {
	content, err := p.content(desired)
	if err != nil {
		return nil, err
	}
	if err := setLastApplied(content, content); err != nil {
		return nil, err
	}
	p.own(content)
	return object.Canonical(content)
}

// content is what the hook wants of a child, completed: its namespace and the
// generated labels and annotations are filled in. It is what is recorded as last applied.
func (p *parent) content(desired *object.Object) (map[string]any, error) {
	content, err := desired.Decode()
	if err != nil {
		return nil, err
	}
	child := unstructured.Unstructured{Object: content}
	if desired.Namespace == "" && p.Namespace != "" {
		child.SetNamespace(p.Namespace)
	}
	if len(p.generatedLabels) > 0 {
		child.SetLabels(p.labelsOf(desired))
	}
	// A hook may have copied it from an attachment. Nobody would take the child for one of
	// the parent's any more.
	unstructured.RemoveNestedField(content, "metadata", "annotations", object.DecoratorAnnotation)
	for name, value := range p.generatedAnnotations {
		if err := setAnnotation(content, name, value); err != nil {
			return nil, err
		}
	}
	unstructured.RemoveNestedField(content, "metadata", "annotations", object.LastAppliedAnnotation)
	return content, nil
}

// restore puts back what merging must not touch.
func restore(merged, observed map[string]any) {
	restoreFields(merged, observed, "status")
	mergedMeta, _ := merged["metadata"].(map[string]any)
	observedMeta, _ := observed["metadata"].(map[string]any)
	if mergedMeta == nil {
		merged["metadata"] = maps.Clone(observedMeta)
		return
	}
	restoreFields(mergedMeta, observedMeta, systemFields[:]...)
	// They say which child it is. A namespace that the hook gives a cluster-scoped child
	// the host drops.
	restoreFields(mergedMeta, observedMeta, "name", "namespace")
}

// withoutSystemFields is a record without what merging never applies. In the answer
// of a hook that echoes its children, these fields change with every write.
func withoutSystemFields(record map[string]any) map[string]any {
	record = maps.Clone(record)
	delete(record, "status")
	if metadata, ok := record["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		restoreFields(metadata, nil, systemFields[:]...)
		record["metadata"] = metadata
	}
	return record
}

func restoreFields(merged, observed map[string]any, names ...string) {
	for _, name := range names {
		if value, there := observed[name]; there {
			merged[name] = value
		} else {
			delete(merged, name)
		}
	}
}

// takeLastApplied takes the record of what was last applied out of an observed child, with the texts
// in it that the child has or that are wanted of it, see recordFor.
// A child without a record gives an empty one: nothing is known to be ours to remove.
func takeLastApplied(observed *object.Object, have, want map[string]any) (map[string]any, error) {
	text, found, err := unstructured.NestedString(have, "metadata", "annotations", object.LastAppliedAnnotation)
	if err != nil || !found {
		return nil, err
	}
	unstructured.RemoveNestedField(have, "metadata", "annotations", object.LastAppliedAnnotation)
	var last map[string]any
	if err := utiljson.Unmarshal([]byte(text), &last); err != nil {
		return nil, fmt.Errorf("%s: the annotation %s is no JSON object; delete the annotation: %w",
			observed, object.LastAppliedAnnotation, err)
	}
	if strings.Contains(text, digestPrefix) {
		last = lengthened(last, have, want)
	}
	return last, nil
}

// setLastApplied records in a child what is wanted of it, which may be the child itself as it is so far.
func setLastApplied(content, want map[string]any) error {
	record, err := encodeLastApplied(want, content)
	if err != nil {
		child := unstructured.Unstructured{Object: content}
		name := types.NamespacedName{Namespace: child.GetNamespace(), Name: child.GetName()}
		return fmt.Errorf("child %s %s: %w", child.GetKind(), strings.TrimPrefix(name.String(), "/"), err)
	}
	return setAnnotation(content, object.LastAppliedAnnotation, record)
}

func setAnnotation(content map[string]any, name, value string) error {
	if metadata, ok := content["metadata"].(map[string]any); ok && metadata["annotations"] == nil {
		delete(metadata, "annotations") // into a null nothing can be set
	}
	return unstructured.SetNestedField(content, value, "metadata", "annotations", name)
}
