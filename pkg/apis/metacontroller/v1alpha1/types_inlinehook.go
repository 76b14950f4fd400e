// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// InlineHook is a hook without a program: its fields are those of the answer, as a template. Each string may have CEL
// expressions, as in "${parent.metadata.name}-web". A string that is one expression becomes the value of the
// expression, with its type; the value of an absent optional leaves the field or the list item out. "$${" is a literal
// "${". The expressions see the fields of a request in version v2: controller, parent (of a DecoratorController:
// object), children (attachments), related and finalizing; those of a customize hook see controller and parent.
type InlineHook struct {
	// variables are expressions with names, for the other expressions, as in "variables.deployments". Each is evaluated
	// when it is first used, and may use those before it. For example
	// [{name: deployments, expression: "children['Deployment.apps/v1']"}].
	// Default: none.
	// +listType=atomic
	// +optional
	Variables []InlineVariable `json:"variables,omitzero"`

	// status is the new status of the parent, for example {ready: "${size(children['Pod.v1'])}"}.
	// Default: absent, as in an answer without status.
	// +optional
	Status *JSONValue `json:"status,omitempty"`

	// children are the objects that should exist for the parent of a CompositeController.
	// Default: absent. Write [] if there should be none.
	// +listType=atomic
	// +optional
	Children []InlineChild `json:"children,omitzero"`

	// attachments are the objects that should exist for the target of a DecoratorController.
	// Default: absent. Write [] if there should be none.
	// +listType=atomic
	// +optional
	Attachments []InlineChild `json:"attachments,omitzero"`

	// labels are those of the target to set, or to remove with null. Only for DecoratorControllers.
	// Default: absent, nothing changes.
	// +optional
	Labels *JSONValue `json:"labels,omitempty"`

	// annotations are those of the target to set, or to remove with null. Only for DecoratorControllers.
	// Default: absent, nothing changes.
	// +optional
	Annotations *JSONValue `json:"annotations,omitempty"`

	// resyncAfterSeconds is the number of seconds after which the parent is synced once more, or an expression for it.
	// Default: absent, no such sync.
	// +optional
	ResyncAfterSeconds *JSONValue `json:"resyncAfterSeconds,omitempty"`

	// events lists up to ten events about the parent or a child, for example [{reason: Resized, message: "now
	// ${parent.spec.size}"}]. An expression whose value is an absent optional leaves its event out.
	// Default: absent, none.
	// +optional
	Events *JSONValue `json:"events,omitempty"`

	// finalized is true if nothing is left to do before the parent is deleted, for example
	// "${size(children['Pod.v1']) == 0}". Only for finalize hooks.
	// Default: false.
	// +optional
	Finalized *JSONValue `json:"finalized,omitempty"`

	// relatedResources are the rules of a customize hook, for example [{apiVersion: v1, resource: secrets, names:
	// ["${parent.spec.secret}"]}]. Only for customize hooks.
	// Default: absent, no related objects.
	// +optional
	RelatedResources *JSONValue `json:"relatedResources,omitempty"`
}

// InlineVariable is an expression with a name.
type InlineVariable struct {
	// name of the variable: a letter or an underscore, then letters, digits and underscores. For example "deployments".
	Name string `json:"name"`

	// expression is the CEL expression, with or without "${" and "}" around it.
	Expression string `json:"expression"`
}

// InlineChild describes no, one or several objects.
type InlineChild struct {
	// forEach makes an object for each item of a list, or for each key of a map, in alphabetical order. It has the name
	// of a variable for the item, and the expression of the list or map: {language: "${parent.spec.languages}"}. With
	// several names, there is an object for each combination; they nest in alphabetical order, and the expression of a
	// name may use the names before it.
	// Default: absent, one object.
	// +optional
	ForEach map[string]string `json:"forEach,omitzero"`

	// when is an expression that must be true for the object to exist, for example "${parent.spec.replicas > 0}". It may
	// use the names of forEach.
	// Default: absent, the object exists.
	// +optional
	When *string `json:"when,omitempty"`

	// object is the object, with its apiVersion, kind and metadata.name. It may be one expression. It may use the names
	// of forEach.
	Object JSONValue `json:"object"`
}
