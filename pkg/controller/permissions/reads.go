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
	if !of.Namespaced || len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		for _, verb := range []string{"list", "watch"} {
			object := rights.Object{GroupResource: of.GroupResource(), Namespace: namespace}
			required = append(required, rights.Required{Right: rights.Right{Object: object, Verb: verb}, For: what})
		}
	}
	return required
}
