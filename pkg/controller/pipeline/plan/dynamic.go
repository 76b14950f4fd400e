// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// dynamicApply is the engine that merges three ways and writes whole children.
type dynamicApply struct {
	*parent
	// schema is how the host describes the children, nil if it does not.
	schema *openapi.Type
}

func (d dynamicApply) create(desired *object.Object) (pipeline.Step, error) {
	body, err := d.newChild(desired)
	return pipeline.Step{Op: pipeline.Create, Body: body, Why: whyMissing}, err
}

func (d dynamicApply) change(method Method, observed, desired *object.Object) (pipeline.Step, error) {
	if observed.Applied != nil && !hasLastApplied(observed) {
		return d.toDynamicApply(observed)
	}
	change, err := d.merge(d.schema, observed, desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	if method == Recreate && change.content {
		return pipeline.Step{Op: pipeline.Recreate, Observed: observed, Path: change.path, Why: "it differs at " + change.path}, nil
	}
	if method == InPlace && (change.content || change.annotation) {
		body, err := object.Canonical(change.merged)
		return pipeline.Step{Op: pipeline.Update, Observed: observed, Body: body, Path: change.path, Why: "it differs at " + change.path}, err
	}
	return keep(observed, whyUpToDate), nil
}
