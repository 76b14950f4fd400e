// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookschema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Kind is a kind of controllers: CompositeController or DecoratorController.
type Kind struct {
	// Name is short, such as "composite".
	Name string
	// parent and children are the names of fields.
	parent, children string
	// changesMetadata is whether answers may change the labels and annotations of the parent.
	changesMetadata bool
}

// Composite is the kind CompositeController.
func Composite() Kind { return Kind{Name: "composite", parent: "parent", children: "children"} }

// Decorator is the kind DecoratorController.
func Decorator() Kind {
	return Kind{Name: "decorator", parent: "object", children: "attachments", changesMetadata: true}
}

// Request returns the schema of the requests to sync and finalize hooks.
func Request(kind Kind, version v1alpha1.HookVersion) *Schema {
	keys := `The keys are "name" for objects in the namespace of a namespaced parent, ` +
		`"namespace/name" below a cluster-scoped parent.`
	if version == v1alpha1.HookVersionV2 {
		keys = `The keys are "namespace/name", and "name" for cluster-scoped objects.`
	}
	s := request(
		field{"controller", reference("object", "The controller as it is stored.")},
		field{kind.parent, reference("object", "The object that is synced.")},
		field{kind.children, reference("groups", "The "+kind.children+
			" that exist, with a group for each type of the spec. "+keys)},
		field{"related", reference("groups",
			"The objects that the customize hook selected, with a group for each type. "+keys)},
		field{"finalizing", &Schema{Type: "boolean", Description: "Whether this is a call of the finalize hook."}},
	)
	s.Title = fmt.Sprintf("Request to the sync or finalize hook of a %scontroller, version %s", kind.Name, version)
	return document(s, map[string]*Schema{"object": observed(), "groups": groups()})
}

// CustomizeRequest returns the schema of the requests to customize hooks.
func CustomizeRequest() *Schema {
	s := request(
		field{"controller", reference("object", "The controller as it is stored.")},
		field{"parent", reference("object", "The object whose related objects the hook selects.")},
	)
	s.Title = "Request to a customize hook, all versions"
	return document(s, map[string]*Schema{"object": observed()})
}

// field is a field of a request.
type field struct {
	name  string
	value *Schema
}

// request returns the schema of a request with these fields. It always has all of them.
func request(fields ...field) *Schema {
	s := object("", map[string]*Schema{})
	for _, one := range fields {
		s.Properties[one.name] = one.value
		s.fields = append(s.fields, one.name)
	}
	s.Required = slices.Sorted(slices.Values(s.fields))
	return s
}

// Answer returns the schema of the answers of sync and finalize hooks.
func Answer(kind Kind, version v1alpha1.HookVersion) *Schema {
	properties := map[string]*Schema{
		"status": {Type: orNull("object"), Description: "The new status of the parent."},
		kind.children: {
			Type: orNull("array"), Items: reference("child", ""),
			Description: "All objects that should exist. The server deletes existing children that are not listed.",
		},
		"resyncAfterSeconds": {Type: orNull("number"), Description: "Call the hook once more after this number of seconds."},
		"events": {
			Type: orNull("array"), MaxItems: 10, Items: reference("event", ""),
			Description: "Events to record for the parent or a child.",
		},
		"finalized": {
			Type:        orNull("boolean"),
			Description: "Whether the finalize hook has finished. Ignored in other answers.",
		},
	}
	if kind.changesMetadata {
		changes := &Schema{Type: orNull("string")}
		maps.Copy(properties, map[string]*Schema{
			"labels": {
				Type: orNull("object"), AdditionalProperties: changes,
				Description: "Labels of the target to set, or to remove with null.",
			},
			"annotations": {
				Type: orNull("object"), AdditionalProperties: changes,
				Description: "Annotations of the target to set, or to remove with null.",
			},
		})
	}
	s := object("", properties)
	s.Title = fmt.Sprintf("Answer of the sync or finalize hook of a %scontroller, version %s", kind.Name, version)
	return document(readAs(version, s), map[string]*Schema{"child": desired(), "event": event()})
}

// CustomizeAnswer returns the schema of the answers of customize hooks.
func CustomizeAnswer(version v1alpha1.HookVersion) *Schema {
	s := object("", map[string]*Schema{
		"relatedResources": {
			Type: orNull("array"), Items: reference("rule", ""),
			Description: "Rules that select objects. The next request contains the selected objects.",
		},
	})
	s.Title = fmt.Sprintf("Answer of a customize hook, version %s", version)
	return document(readAs(version, s), map[string]*Schema{"rule": readAs(version, rule()), "selector": selector()})
}

// readAs allows other fields in an answer of version v1, in which they are ignored by default.
func readAs(version v1alpha1.HookVersion, s *Schema) *Schema {
	if version == v1alpha1.HookVersionV1 {
		s.AdditionalProperties = nil
	}
	return s
}

func document(s *Schema, definitions map[string]*Schema) *Schema {
	s.Dialect, s.Definitions = dialect, definitions
	return s
}

// observed is an object of a cluster, in a request.
func observed() *Schema {
	return &Schema{
		Type:        "object",
		Description: "An object of the cluster, without metadata.managedFields.",
		Properties: map[string]*Schema{
			"apiVersion": text(""),
			"kind":       text(""),
			"metadata": {
				Type:       "object",
				Properties: map[string]*Schema{"name": text(""), "namespace": text("")},
				Required:   []string{"name"},
			},
		},
		Required: []string{"apiVersion", "kind", "metadata"},
	}
}

// groups are objects by type, and then by key.
func groups() *Schema {
	return &Schema{
		Type:          "object",
		Description:   `Objects by type, such as "Pod.v1" and "Deployment.apps/v1", and then by key.`,
		PropertyNames: &Schema{Pattern: `^[A-Za-z0-9]+\.([a-z0-9.-]+/)?[a-z0-9]+$`},
		AdditionalProperties: &Schema{
			Type:                 "object",
			PropertyNames:        &Schema{Pattern: `^[^/]+(/[^/]+)?$`},
			AdditionalProperties: reference("object", ""),
		},
	}
}

// desired is a child in an answer.
func desired() *Schema {
	return &Schema{
		Type:        "object",
		Description: "An object that should exist, with the fields that matter to the hook.",
		Properties: map[string]*Schema{
			"apiVersion": {Type: "string", MinLength: 1},
			"kind":       {Type: "string", MinLength: 1},
			"metadata": {
				Type:       "object",
				Properties: map[string]*Schema{"name": {Type: "string", MinLength: 1}, "namespace": text("")},
				Required:   []string{"name"},
			},
		},
		Required: []string{"apiVersion", "kind", "metadata"},
	}
}

func event() *Schema {
	name := func() *Schema { return &Schema{Type: "string", MinLength: 1} }
	return &Schema{
		Type: "object",
		Properties: map[string]*Schema{
			"type":    {Type: "string", Enum: []string{"", "Normal", "Warning"}, Description: "Normal if it is absent."},
			"reason":  {Type: "string", Pattern: `^[A-Z][A-Za-z0-9]{0,127}$`, Description: "A word in CamelCase."},
			"message": name(),
			"child": {
				Type:        orNull("object"),
				Description: "The child that the event is about.",
				Properties:  map[string]*Schema{"apiVersion": name(), "kind": name(), "namespace": text(""), "name": name()},
				Required:    []string{"apiVersion", "kind", "name"},
			},
		},
		Required: []string{"reason", "message"},
	}
}

// rule is a rule for related objects.
func rule() *Schema {
	s := object("", map[string]*Schema{
		"apiVersion":        {Type: "string", MinLength: 1, Description: `Such as "v1" and "apps/v1".`},
		"resource":          {Type: "string", MinLength: 1, Description: `The plural, such as "configmaps".`},
		"namespace":         text("Only objects in this namespace."),
		"names":             {Type: orNull("array"), Items: text(""), Description: "Only objects with these names."},
		"labelSelector":     reference("selector", "Only objects with these labels."),
		"namespaceSelector": reference("selector", "Only objects in namespaces with these labels."),
	}, "apiVersion", "resource")
	with := func(field string, value *Schema) *Schema {
		return &Schema{Properties: map[string]*Schema{field: value}, Required: []string{field}}
	}
	some, any := &Schema{Type: "array", MinItems: 1}, &Schema{Type: "object"}
	never := func(one, other *Schema) *Schema { return &Schema{Not: &Schema{AllOf: []*Schema{one, other}}} }
	s.AllOf = []*Schema{
		never(with("names", some), with("labelSelector", any)),
		never(with("names", some), with("namespaceSelector", any)),
		never(with("namespace", &Schema{Type: "string", MinLength: 1}), with("namespaceSelector", any)),
	}
	return s
}

// selector is a label selector of Kubernetes.
func selector() *Schema {
	return &Schema{
		Type: orNull("object"),
		Properties: map[string]*Schema{
			"matchLabels": {Type: orNull("object"), AdditionalProperties: text("")},
			"matchExpressions": {
				Type: orNull("array"),
				Items: object("", map[string]*Schema{
					"key":      text(""),
					"operator": {Type: "string", Enum: []string{"In", "NotIn", "Exists", "DoesNotExist"}},
					"values":   {Type: orNull("array"), Items: text("")},
				}, "key", "operator"),
			},
		},
	}
}
