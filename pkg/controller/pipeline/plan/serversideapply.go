// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// serverSideApply is the engine that has the host merge: it sends what the hook wants,
// and the host removes what was sent before and is not any more.
type serverSideApply struct {
	*parent
	// schema is how the host describes the children, nil if it does not.
	schema *openapi.Type
}

// neverCurrent is a resource version that no object has: in etcd it stands for the
// empty storage.
const neverCurrent = "1"

// create applies a child that has a resource version. The host takes one as a condition
// on the object there is, and creates where there is none: so an object that is not
// ours is never taken over, not even one that the cache does not show yet, and the
// child's fields belong to server-side apply from its first write on.
func (s serverSideApply) create(desired *object.Object) (pipeline.Step, error) {
	configuration, err := s.configuration(desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	body, err := withMetadata(configuration, "resourceVersion", neverCurrent)
	return pipeline.Step{Op: pipeline.Apply, Body: body, Why: whyMissing}, err
}

func (s serverSideApply) change(method Method, observed, desired *object.Object) (pipeline.Step, error) {
	if hasLastApplied(observed) {
		return s.toServerSideApply(observed, "it was written by dynamic apply")
	}
	configuration, err := s.configuration(desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	path, differs, err := s.difference(observed, configuration)
	if err != nil || !differs {
		return keep(observed, whyUpToDate), err
	}
	if observed.Shared {
		return s.toServerSideApply(observed, "what was applied has another owner, of dynamic apply")
	}
	// Without the child of that UID there is nothing to change.
	body, err := withMetadata(configuration, "uid", string(observed.UID))
	step := pipeline.Step{Op: pipeline.Apply, Observed: observed, Body: body, Path: path, Why: "it differs, or is not ours, at " + path}
	if method == Recreate {
		step.Op = pipeline.Recreate
	}
	return step, err
}

// configuration is what is applied to make a child what the hook wants.
func (s serverSideApply) configuration(desired *object.Object) (map[string]any, error) {
	content, err := s.content(desired)
	if err != nil {
		return nil, err
	}
	s.own(content)
	return withoutSystemFields(content), nil
}

// difference compares what is to be applied with what of the child we have applied. The
// host forgets that a field is ours when others change it, so that what is still ours and
// has the wanted values need not be applied again. Where the host has written a value in
// a form of its own, and does not say that it does so, this shows a difference that is
// none, and the host finds out.
func (s serverSideApply) difference(observed *object.Object, configuration map[string]any) (path string, differs bool, err error) {
	applied, err := appliedFields(observed)
	if err != nil {
		return "", false, err
	}
	path, differs = difference(applied, configuration)
	return path, differs && !same(s.schema, applied, configuration), nil
}

func withMetadata(content map[string]any, field, value string) ([]byte, error) {
	if err := unstructured.SetNestedField(content, value, "metadata", field); err != nil {
		return nil, err
	}
	return object.Canonical(content)
}
