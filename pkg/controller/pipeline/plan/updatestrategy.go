// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// engine is a way of making a parent's children be what the hook wants. Whether a
// child may be written is decided before.
type engine interface {
	// create is the step that brings a missing child into being.
	create(desired *object.Object) (pipeline.Step, error)
	// change is the step that method, Recreate or InPlace, takes with a child that is
	// there; Keep if the child is as the hook wants it.
	change(method Method, observed, desired *object.Object) (pipeline.Step, error)
}

// engine returns the engine of that name for the parent's children of a type.
func (p *parent) engine(name Engine, of *openapi.Type) engine {
	if name == ServerSideApply {
		return serverSideApply{p, of}
	}
	return dynamicApply{p, of}
}

// The reasons of steps that engines share.
const (
	whyMissing  = "the hook lists it and it is not there"
	whyUpToDate = "it is as the hook wants it"
)

// keep is the step that leaves a child as it is.
func keep(observed *object.Object, why string) pipeline.Step {
	return pipeline.Step{Op: pipeline.Keep, Observed: observed, Why: why}
}
