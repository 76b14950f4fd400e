// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// toServerSideApply is the step that makes a child of dynamic apply one of server-side
// apply: the fields on record, and being our child, become what was applied. A later
// sync sees what is left to write.
func (p *parent) toServerSideApply(observed *object.Object, why string) (pipeline.Step, error) {
	have, err := observed.Decode()
	if err != nil {
		return pipeline.Step{}, err
	}
	record, err := takeLastApplied(observed, have, nil)
	if err != nil {
		return pipeline.Step{}, err
	}
	if record == nil {
		record = map[string]any{}
	}
	p.own(record)
	body, err := object.Canonical(record)
	return pipeline.Step{Op: pipeline.ToServerSideApply, Observed: observed, Body: body, Why: why}, err
}

// toDynamicApply is the step that makes a child of server-side apply one of dynamic
// apply: what was applied, except for being our child, becomes the record. A later
// sync sees what is left to write.
func (p *parent) toDynamicApply(observed *object.Object) (pipeline.Step, error) {
	record, err := appliedFields(observed)
	if err != nil {
		return pipeline.Step{}, err
	}
	have, err := observed.Decode()
	if err != nil {
		return pipeline.Step{}, err
	}
	child := unstructured.Unstructured{Object: record}
	others := slices.DeleteFunc(child.GetOwnerReferences(), p.owns)
	child.SetOwnerReferences(nil)
	if len(others) > 0 {
		child.SetOwnerReferences(others)
	}
	body, err := encodeLastApplied(record, have)
	if err != nil {
		return pipeline.Step{}, fmt.Errorf("child %s: %w", observed, err)
	}
	return pipeline.Step{Op: pipeline.ToDynamicApply, Observed: observed, Body: []byte(body), Why: "it was written by server-side apply"}, nil
}

// hasLastApplied tells whether dynamic apply has written a child.
func hasLastApplied(observed *object.Object) bool {
	return observed.Lookup("metadata", "annotations", object.LastAppliedAnnotation) != nil
}

// appliedFields is what was applied of a child by server-side apply, as far as it is still
// ours, with what names the child, which is nobody's field.
func appliedFields(observed *object.Object) (map[string]any, error) {
	have, err := observed.Decode()
	if err != nil {
		return nil, err
	}
	result, err := managedfields.Extract(observed.Applied, have)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", observed, err)
	}
	restoreFields(result, have, "apiVersion", "kind")
	metadata, ok := result["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	metadata = maps.Clone(metadata)
	if had, ok := have["metadata"].(map[string]any); ok {
		restoreFields(metadata, had, "name", "namespace")
	}
	result["metadata"] = metadata
	return result, nil
}
