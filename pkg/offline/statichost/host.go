// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Host is a cluster with objects that never change. It implements http.RoundTripper.
type Host struct {
	types *Types
	// objects are those of each resource, ordered by namespace and name.
	objects map[schema.GroupResource][]*unstructured.Unstructured
}

// New returns a host with objects, which Types.Complete has completed, and with the CustomResourceDefinitions of its types. There
// must not be two of the same name, but an object may take the place of a definition.
func New(types *Types, objects []*unstructured.Unstructured) (*Host, error) {
	h := &Host{types: types, objects: map[schema.GroupResource][]*unstructured.Unstructured{}}
	definitions := slices.DeleteFunc(slices.Clone(types.definitions), func(definition *unstructured.Unstructured) bool {
		return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetUID() == definition.GetUID() })
	})
	for _, object := range slices.Concat(definitions, objects) {
		of, err := types.Of(object.GroupVersionKind())
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), path(object), err)
		}
		h.objects[of.GroupResource()] = append(h.objects[of.GroupResource()], object)
	}
	for _, all := range h.objects {
		slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(path(a), path(b)) })
		for i := range all[1:] {
			if path(all[i]) == path(all[i+1]) {
				return nil, fmt.Errorf("there are two objects %s %s", all[i].GetKind(), path(all[i]))
			}
		}
	}
	return h, nil
}

// Config returns how clients reach the host.
func (h *Host) Config() *rest.Config {
	return &rest.Config{Host: "http://static.invalid", Transport: h, QPS: -1}
}
