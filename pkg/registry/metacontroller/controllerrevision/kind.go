// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerrevision

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

type controllerRevision = v1alpha1.ControllerRevision

// NewStorage returns the REST storage of ControllerRevisions and of their status subresource.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*resource.Storage, error) {
	return resource.NewStorage(kind(), scheme, optsGetter)
}

// kind returns what is particular to ControllerRevisions. They have a status subresource, as
// clients of the original's CRD may expect one, and no status.
func kind() resource.Kind[controllerRevision, *controllerRevision] {
	return resource.Kind[controllerRevision, *controllerRevision]{
		Resource:      "controllerrevisions",
		Singular:      "controllerrevision",
		Namespaced:    true,
		Version:       v1alpha1.SchemeGroupVersion,
		NewList:       func() runtime.Object { return &v1alpha1.ControllerRevisionList{} },
		ContentFields: []string{"parentPatch", "children"},
		Content: func(revision *controllerRevision) any {
			return []any{revision.ParentPatch.Raw, revision.Children}
		},
		Normalize:      normalize,
		Validate:       validation.ValidateControllerRevision,
		ValidateUpdate: validation.ValidateControllerRevisionUpdate,
		Table:          newTable(),
	}
}

// normalize writes parentPatch as a CRD's storage would: without white space, keys in order. It is
// free-form, so nothing else brings equal contents into equal bytes. What is no JSON is left to
// validation.
func normalize(revision *controllerRevision) {
	var content any
	if err := json.Unmarshal(revision.ParentPatch.Raw, &content); err != nil {
		return
	}
	if canonical, err := json.Marshal(content); err == nil {
		revision.ParentPatch.Raw = canonical
	}
}
