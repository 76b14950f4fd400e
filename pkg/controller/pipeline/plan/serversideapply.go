// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// serverSideApply is the engine that leaves merging to the host: it sends the desired fields, and the host removes
// fields that were sent before and are no longer sent.
type serverSideApply struct {
	*parent
	// schema is the host's schema of the children; nil if there is none.
	schema *openapi.Type
}

// neverCurrent is a resource version that no object has: in etcd it is the version of the empty storage.
const neverCurrent = "1"

// create applies a child with a resource version. The host treats the version as a precondition on an existing
// object, and creates the child if there is none. So the step never changes an object that is not ours, even one
// that the cache does not show yet, and server-side apply owns the child's fields from the first write on.
func (s serverSideApply) create(desired *object.Object) (pipeline.Step, error) {
	configuration, err := s.configuration(desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	body, err := withMetadata(configuration, "resourceVersion", neverCurrent)
	return pipeline.Step{Op: pipeline.Apply, Body: body, Why: whyMissing}, err
}

func (s serverSideApply) change(method Method, observed, desired *object.Object) (pipeline.Step, error) {
	if observed.HasLastApplied() {
		return s.toServerSideApply(observed, "it was written by dynamic apply")
	}
	configuration, err := s.configuration(desired)
	if err != nil {
		return pipeline.Step{}, err
	}
	applied, err := appliedFields(observed)
	if err != nil {
		return pipeline.Step{}, err
	}
	path, differs := s.difference(applied, configuration)
	if !differs {
		return keep(observed, whyUpToDate), nil
	}
	if observed.Shared {
		return s.toServerSideApply(observed, "the applied fields have another owner, of dynamic apply")
	}
	onlyMarks := differOnlyInMarks(s.schema, path, applied, configuration)
	// With the UID, the request fails if the child is gone, instead of creating another one.
	body, err := withMetadata(configuration, "uid", string(observed.UID))
	step := pipeline.Step{Op: pipeline.Apply, Observed: observed, Body: body, Path: path}
	step.Why = "it differs, or has another field manager, at " + path
	if method.replaces() && !onlyMarks {
		step.Op = pipeline.Recreate
	}
	return step, err
}

// markListed records on a child that the hook has listed it: it applies the reference to the parent, and the fields
// that were applied before, for another parent or before the child was released. The cluster would remove those fields
// otherwise.
func (s serverSideApply) markListed(observed *object.Object) (pipeline.Step, error) {
	configuration := identityOf(observed)
	if observed.Applied != nil {
		var err error
		if configuration, err = appliedFields(observed); err != nil {
			return pipeline.Step{}, err
		}
	}
	s.own(configuration)
	body, err := withMetadata(configuration, "uid", string(observed.UID))
	return pipeline.Step{Op: pipeline.Apply, Observed: observed, Body: body, Why: whyMarked}, err
}

const whyMarked = "the hook lists it: the server records that, to delete it when the hook no longer lists it"

// identityOf returns the fields that identify a child.
func identityOf(child *object.Object) map[string]any {
	metadata := map[string]any{"name": child.Name}
	if child.Namespace != "" {
		metadata["namespace"] = child.Namespace
	}
	return map[string]any{"apiVersion": child.APIVersion, "kind": child.Kind, "metadata": metadata}
}

// toServerSideApply returns the step that moves a child from dynamic apply to server-side apply, which then owns the
// fields that were last applied and the owner reference to the parent. A later sync writes the remaining differences.
func (s serverSideApply) toServerSideApply(observed *object.Object, why string) (pipeline.Step, error) {
	have, err := observed.Decode()
	if err != nil {
		return pipeline.Step{}, err
	}
	last, err := takeLastApplied(have, nil)
	if err != nil {
		return pipeline.Step{}, err
	}
	if last == nil {
		last = map[string]any{}
	}
	s.own(last)
	body, err := object.Canonical(last)
	return pipeline.Step{Op: pipeline.ToServerSideApply, Observed: observed, Body: body, Why: why}, err
}

// configuration returns the configuration that is applied for a desired child.
func (s serverSideApply) configuration(desired *object.Object) (map[string]any, error) {
	content, err := s.content(desired)
	if err != nil {
		return nil, err
	}
	s.own(content)
	return withoutSystemFields(content), nil
}

// difference compares the configuration with the fields of the child that we have applied. When others change a
// field, the host takes it from us. So a field that we still own and that has the wanted value need not be
// applied again. If the host stores a value in a form of its own and its schema does not say so, difference
// reports a difference where there is none, and applying the configuration changes nothing.
func (s serverSideApply) difference(applied, configuration map[string]any) (path string, differs bool) {
	path, differs = difference(applied, configuration)
	return path, differs && !same(s.schema, applied, configuration)
}

// appliedFields returns the fields of a child that we have applied and still own. It adds the fields that
// identify the child, which have no owner.
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

func withMetadata(content map[string]any, field, value string) ([]byte, error) {
	if err := unstructured.SetNestedField(content, value, "metadata", field); err != nil {
		return nil, err
	}
	return object.Canonical(content)
}
