// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Reads returns the rights to read that the service account must have before the controller starts.
func (s *Spec) Reads() []rights.Required {
	var required []rights.Required
	read := func(of object.Type, what string) {
		required = append(required, permissions.ToShow(of, s.Namespaces.Names(), what)...)
	}
	for _, target := range s.Targets {
		read(target.Type, "its parents")
	}
	for _, child := range s.Children {
		read(child, "its "+s.Kind.ChildrenField)
	}
	for _, of := range s.Related {
		read(of, "spec.relatedResources")
	}
	for _, one := range s.ResyncOn {
		if one.why != nil {
			continue // the host lacks its type
		}
		of := rights.Object{GroupResource: one.Type.GroupResource(), Namespace: one.Name.Namespace, Name: one.Name.Name}
		for _, verb := range []string{"get", "list", "watch"} {
			required = append(required, rights.Required{Right: rights.Right{Object: of, Verb: verb}, For: one.Field})
		}
	}
	for _, one := range s.namedHooks() {
		for _, reference := range hook.References(one.name, one.spec, s.EndpointConfigs) {
			if reference.Name.Name == "" || reference.Name.Namespace == "" {
				continue // it can refer to nothing
			}
			of := rights.Object{
				GroupResource: reference.Type.GroupResource(), Namespace: reference.Name.Namespace, Name: reference.Name.Name,
			}
			required = append(required, rights.Required{Right: rights.Right{Object: of, Verb: "get"}, For: reference.Field})
		}
	}
	return required
}
