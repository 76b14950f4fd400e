// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// toServerSideApply returns the step that moves a child from dynamic apply to server-side apply:
// the fields that were last applied, and the owner reference to the parent, become owned by
// server-side apply. A later sync sees what is left to write.
func (p *parent) toServerSideApply(observed *object.Object, why string) (pipeline.Step, error) {
	have, err := observed.Decode()
	if err != nil {
		return pipeline.Step{}, err
	}
	last, err := takeLastApplied(observed, have, nil)
	if err != nil {
		return pipeline.Step{}, err
	}
	if last == nil {
		last = map[string]any{}
	}
	p.own(last)
	body, err := object.Canonical(last)
	return pipeline.Step{Op: pipeline.ToServerSideApply, Observed: observed, Body: body, Why: why}, err
}

// toDynamicApply returns the step that moves a child from server-side apply to dynamic apply: what
// was applied, except for the owner reference to the parent, becomes what was last applied. A later
// sync sees what is left to write.
func (p *parent) toDynamicApply(observed *object.Object) (pipeline.Step, error) {
	applied, err := appliedFields(observed)
	if err != nil {
		return pipeline.Step{}, err
	}
	have, err := observed.Decode()
	if err != nil {
		return pipeline.Step{}, err
	}
	child := unstructured.Unstructured{Object: applied}
	others := slices.DeleteFunc(child.GetOwnerReferences(), p.owns)
	child.SetOwnerReferences(nil)
	if len(others) > 0 {
		child.SetOwnerReferences(others)
	}
	body, err := encodeLastApplied(applied, have)
	if err != nil {
		return pipeline.Step{}, fmt.Errorf("child %s: %w", observed, err)
	}
	return pipeline.Step{Op: pipeline.ToDynamicApply, Observed: observed, Body: []byte(body), Why: "it was written by server-side apply"}, nil
}
