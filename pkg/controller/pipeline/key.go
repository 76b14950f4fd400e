// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Key names an object of the host, in any version of its type.
type Key struct {
	schema.GroupKind
	types.NamespacedName
}

// KeyOf returns the key of an object.
func KeyOf(o *object.Object) Key {
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
