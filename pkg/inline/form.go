// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookschema"
)

// Form defines the fields that a template may have, and the fields of a request that its expressions see.
type Form struct {
	// Customizes and Finalizes are true for hooks of these names. All others are sync hooks.
	Customizes, Finalizes bool
	// Decorates is true for the hooks of DecoratorControllers.
	Decorates bool
}

// FormOf returns the form of a hook by its field in spec.hooks.
func FormOf(hook string, decorates bool) Form {
	return Form{Customizes: hook == "customize", Finalizes: hook == "finalize", Decorates: decorates}
}

// names returns the fields of the request.
func (f Form) names() []string {
	kind := hookschema.Composite()
	switch {
	case f.Customizes:
		return hookschema.CustomizeRequest().Fields()
	case f.Decorates:
		kind = hookschema.Decorator()
	}
	return hookschema.Request(kind, v1alpha1.HookVersionV2).Fields()
}

// lacks returns why a template of the form cannot have a field; empty if it can.
func (f Form) lacks(name string) string {
	switch name {
	case "relatedResources":
		if !f.Customizes {
			return "only the customize hook returns relatedResources"
		}
		return ""
	case "finalized":
		if !f.Finalizes {
			return "only the finalize hook returns finalized"
		}
	case "children":
		if f.Decorates {
			return "the children of a DecoratorController are its attachments"
		}
	case "attachments", "labels", "annotations":
		if !f.Decorates {
			return "only the hooks of a DecoratorController return " + name
		}
	}
	if f.Customizes {
		return "the customize hook returns only relatedResources"
	}
	return ""
}
