// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// maker is a type of which Kubernetes makes objects of other types.
type maker struct {
	of   schema.GroupResource
	made []schema.GroupResource
	// copies is true if these get the labels of the object itself, and not those of a template in it.
	copies bool
}

// makers returns the types of Kubernetes whose objects lead to others with the same labels.
func makers() []maker {
	core := func(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }
	apps := func(resource string) schema.GroupResource {
		return schema.GroupResource{Group: "apps", Resource: resource}
	}
	batch := func(resource string) schema.GroupResource {
		return schema.GroupResource{Group: "batch", Resource: resource}
	}
	pods, revisions := core("pods"), apps("controllerrevisions")
	endpointSlices := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	return []maker{
		{of: core("services"), made: []schema.GroupResource{core("endpoints"), endpointSlices}, copies: true},
		{of: core("endpoints"), made: []schema.GroupResource{endpointSlices}, copies: true},
		{of: apps("statefulsets"), made: []schema.GroupResource{pods, core("persistentvolumeclaims"), revisions}},
		{of: apps("deployments"), made: []schema.GroupResource{apps("replicasets"), pods}},
		{of: apps("daemonsets"), made: []schema.GroupResource{pods, revisions}},
		{of: apps("replicasets"), made: []schema.GroupResource{pods}},
		{of: core("replicationcontrollers"), made: []schema.GroupResource{pods}},
		{of: batch("jobs"), made: []schema.GroupResource{pods}},
		{of: batch("cronjobs"), made: []schema.GroupResource{batch("jobs"), pods}},
	}
}

// madeByOthers warns of child types of which Kubernetes makes objects for children of another type, or for the parents.
// A generated selector does not match labels of a template.
func (w *warnings) madeByOthers(spec *v1alpha1.CompositeControllerSpec, path *field.Path) {
	for _, maker := range makers() {
		by := ""
		if spec.ParentResource.GroupResource() == maker.of {
			by = "the parents"
		}
		for i := range spec.ChildResources {
			if spec.ChildResources[i].GroupResource() == maker.of {
				by = path.Index(i).String()
			}
		}
		if by == "" || ptr.Deref(spec.GenerateSelector, false) && !maker.copies {
			continue
		}
		for i := range spec.ChildResources {
			if of := spec.ChildResources[i].GroupResource(); slices.Contains(maker.made, of) {
				w.add(path.Index(i), "is a type that Kubernetes makes for the %s of %s, with the same labels: parents "+
					"adopt those that their selector matches; leave the type out unless the hook answers objects of it",
					maker.of.Resource, by)
			}
		}
	}
}
