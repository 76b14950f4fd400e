// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// InlineHook is a hook without a program: its fields are the fields of the answer, as a template. A string may contain
// CEL expressions, as in "${parent.metadata.name}-web". A string that is one expression becomes the value of the
// expression, with its type; if the value is an absent optional, the field or the list item is left out. "$${" is a
// literal "${". The expressions see the fields of the hook's request in version v2, such as parent (of a
// DecoratorController: object). The command kubectl metacontroller schema prints them.
type InlineHook struct {
	// variables are expressions with names. Other expressions use them, as in "variables.deployments". A variable is
	// evaluated at its first use, and may use the variables before it. For example [{name: deployments, expression:
	// "children['Deployment.apps/v1']"}].
	// Default: none.
	// +listType=atomic
	// +optional
	Variables []InlineVariable `json:"variables,omitzero"`

	// status is the new status of the parent, for example {ready: "${size(children['Pod.v1'])}"}.
	// Default: absent. A parent that is a custom resource then loses its status, except for observedGeneration. Other
	// parents, and targets, keep it.
	// +optional
	Status *JSONValue `json:"status,omitempty"`

	// children are the objects that should exist for the parent. Only for CompositeControllers.
	// Default: absent. Write [] if there should be none.
	// +listType=atomic
	// +optional
	Children []InlineChild `json:"children,omitzero"`

	// attachments are the objects that should exist for the target. Only for DecoratorControllers.
	// Default: absent. Write [] if there should be none.
	// +listType=atomic
	// +optional
	Attachments []InlineChild `json:"attachments,omitzero"`

	// labels are the labels to set on the target; null removes a label. Only for DecoratorControllers.
	// Default: absent, nothing changes.
	// +optional
	Labels *JSONValue `json:"labels,omitempty"`

	// annotations are the annotations to set on the target; null removes an annotation. Only for DecoratorControllers.
	// Default: absent, nothing changes.
	// +optional
	Annotations *JSONValue `json:"annotations,omitempty"`

	// resyncAfterSeconds is the number of seconds after which the server syncs the parent once more, or an expression.
	// Default: absent, no such sync.
	// +optional
	ResyncAfterSeconds *JSONValue `json:"resyncAfterSeconds,omitempty"`

	// events lists up to ten events about the parent or a child, for example [{reason: Resized, message: "now
	// ${parent.spec.size}"}]. If an event is one expression with an absent optional as its value, it is left out.
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

// InlineChild describes zero or more objects.
type InlineChild struct {
	// forEach maps the name of a variable to the expression of a list or a map, for example {language:
	// "${parent.spec.languages}"}. There is an object for each item of the list, or for each key of the map in
	// alphabetical order, and the variable has that item or key. With several names, there is an object for each
	// combination; they nest in alphabetical order, and the expression of a name may use the names before it.
	// Default: absent, one object.
	// +optional
	ForEach map[string]string `json:"forEach,omitzero"`

	// when is an expression that must be true for the object to exist, for example "${parent.spec.replicas > 0}". It may
	// use the names of forEach.
	// Default: absent, the object exists.
	// +optional
	When *string `json:"when,omitempty"`

	// object is the object, with its apiVersion, kind and metadata.name, or one expression. It may use the names of
	// forEach.
	Object JSONValue `json:"object"`
}
