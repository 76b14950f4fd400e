// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Type is a resource of the host as discovery describes it.
type Type struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// StatusSubresource is true if the type has the status subresource.
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

// Key names an object of the host, in any version of its type.
type Key struct {
	schema.GroupKind
	types.NamespacedName
}

// KeyOf returns the key of an object.
func KeyOf(o *Object) Key {
	return Key{GroupKind: o.GroupVersionKind().GroupKind(), NamespacedName: o.Key()}
}

// String names the object as messages do: "Pod default/web", "Namespace web".
func (k Key) String() string { return k.Kind + " " + k.Path() }

// Path returns "namespace/name", or the name alone without a namespace.
func (k Key) Path() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Namespaces is a limit to some namespaces. The zero value allows all of them, and cluster-scoped objects.
type Namespaces struct{ names sets.Set[string] }

// NewNamespaces returns Namespaces with these names; all namespaces if there are none.
func NewNamespaces(names []string) Namespaces {
	if len(names) == 0 {
		return Namespaces{}
	}
	return Namespaces{sets.New(names...)}
}

// All reports whether there is no limit.
func (n Namespaces) All() bool { return n.names == nil }

// Has reports whether an object in this namespace is within the limit.
func (n Namespaces) Has(namespace string) bool { return n.names == nil || n.names.Has(namespace) }

// Names returns the names in order; none if there is no limit.
func (n Namespaces) Names() []string {
	if n.All() {
		return nil
	}
	return sets.List(n.names)
}
