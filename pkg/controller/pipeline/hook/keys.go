// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// keyForm is how an object is named in a request.
type keyForm int

const (
	// noKey leaves the object out.
	noKey keyForm = iota
	nameAlone
	namespaceAndName
)

// keys says how an object is named in a request about a parent.
type keys func(parent, o *object.Object) keyForm

func keysOf(version v1alpha1.HookVersion) keys {
	if version == v1alpha1.HookVersionV2 {
		return absoluteKeys
	}
	return relativeKeys
}

// relativeKeys are those of version v1. Below a namespaced parent there is nothing but
// its namespace.
func relativeKeys(parent, o *object.Object) keyForm {
	switch parent.Namespace {
	case "":
		return absoluteKeys(parent, o)
	case o.Namespace:
		return nameAlone
	default:
		return noKey
	}
}

// absoluteKeys are those of version v2.
func absoluteKeys(_, o *object.Object) keyForm {
	if o.Namespace == "" {
		return nameAlone
	}
	return namespaceAndName
}
