// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "k8s.io/apimachinery/pkg/runtime/schema"

// Type is a resource of the host as discovery describes it.
type Type struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// StatusSubresource is true if the status is written by a request of its own.
	StatusSubresource bool
}

// GroupVersionKind returns the type of the resource's objects.
func (t Type) GroupVersionKind() schema.GroupVersionKind {
	return t.GroupVersion().WithKind(t.Kind)
}

// GroupKind returns the type of the resource's objects in any version.
func (t Type) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}

// String names the type as hooks do: "Pod.v1" or "StatefulSet.apps/v1".
func (t Type) String() string { return t.Kind + "." + t.GroupVersion().String() }
