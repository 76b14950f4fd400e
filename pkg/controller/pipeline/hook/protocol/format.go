// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Format is what differs between the kinds of controllers in the requests and answers of sync and
// finalize hooks.
type Format struct {
	// parent and children are the names of these fields.
	parent, children string
	// metadata allows answers to change the labels and annotations of the parent.
	metadata bool
}

var (
	composite = Format{parent: "parent", children: "children"}
	decorator = Format{parent: "object", children: "attachments", metadata: true}
)

// Composite is the format of a CompositeController.
func Composite() Format { return composite }

// Decorator is the format of a DecoratorController.
func Decorator() Format { return decorator }

// ChildrenField returns the name of the field of an answer that lists the children.
func (f Format) ChildrenField() string { return f.children }

// keyForm is what the key of an object in a request consists of.
type keyForm int

const (
	// noKey leaves the object out of the request.
	noKey keyForm = iota
	nameOnly
	namespaceAndName
)

// keyFunc returns the form of the key of an object in a request about a parent.
type keyFunc func(parent, o *object.Object) keyForm

func keysOf(version v1alpha1.HookVersion) keyFunc {
	if version == v1alpha1.HookVersionV2 {
		return absoluteKeys
	}
	return relativeKeys
}

// relativeKeys are the keys of version v1. A request about a namespaced parent shows only objects
// in its namespace.
func relativeKeys(parent, o *object.Object) keyForm {
	switch parent.Namespace {
	case "":
		return absoluteKeys(parent, o)
	case o.Namespace:
		return nameOnly
	default:
		return noKey
	}
}

// absoluteKeys are the keys of version v2.
func absoluteKeys(_, o *object.Object) keyForm {
	if o.Namespace == "" {
		return nameOnly
	}
	return namespaceAndName
}
