// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import "k8s.io/apimachinery/pkg/util/sets"

// Namespaces are the namespaces that something is limited to. The zero value has all of them, and the
// objects that are in none.
type Namespaces struct{ names sets.Set[string] }

// NewNamespaces returns Namespaces with these names, all namespaces without names.
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
