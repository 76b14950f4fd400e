// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// ToShow returns the rights that an account must have for hooks to be shown the objects of a type in
// these namespaces, in the whole cluster if there are none. What is what shows them.
func ToShow(of object.Type, namespaces []string, what string) (required []rights.Required) {
	for _, namespace := range scope(of, namespaces) {
		for _, verb := range []string{"list", "watch"} {
			object := rights.Object{GroupResource: of.GroupResource(), Namespace: namespace}
			required = append(required, rights.Required{Right: rights.Right{Object: object, Verb: verb}, For: what})
		}
	}
	return required
}

// ToUpdateStatus returns the rights that an account must have to update the status of the objects of a type in
// these namespaces, in the whole cluster if there are none. What is what updates them.
func ToUpdateStatus(of object.Type, namespaces []string, what string) (required []rights.Required) {
	for _, namespace := range scope(of, namespaces) {
		object := rights.Object{GroupResource: of.GroupResource(), Namespace: namespace}
		if of.StatusSubresource {
			object.Subresource = "status"
		}
		required = append(required, rights.Required{Right: rights.Right{Object: object, Verb: "update"}, For: what})
	}
	return required
}

// scope returns the namespaces in which a right is needed; "" is the whole cluster.
func scope(of object.Type, namespaces []string) []string {
	if !of.Namespaced || len(namespaces) == 0 {
		return []string{""}
	}
	return namespaces
}
