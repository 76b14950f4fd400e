// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"fmt"
	"maps"

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
	keys := `The keys are "name" for objects in the namespace of a namespaced parent, "namespace/name" below a cluster-scoped parent.`
	if version == v1alpha1.HookVersionV2 {
		keys = `The keys are "namespace/name", and "name" for cluster-scoped objects.`
	}
	s := object("", map[string]*Schema{
		"controller":  reference("object", "The controller as it is stored."),
		kind.parent:   reference("object", "The object that is synced."),
		kind.children: reference("groups", "The "+kind.children+" that exist, with a group for each type of the spec. "+keys),
		"related":     reference("groups", "The objects that the customize hook asked for, with a group for each type. "+keys),
		"finalizing":  {Type: "boolean", Description: "Whether this is a call of the finalize hook."},
	}, "controller", kind.parent, kind.children, "related", "finalizing")
	s.Title = fmt.Sprintf("Request to the sync or finalize hook of a %scontroller, version %s", kind.Name, version)
	return document(s, map[string]*Schema{"object": observed(), "groups": groups()})
}

// CustomizeRequest returns the schema of the requests to customize hooks.
func CustomizeRequest() *Schema {
	s := object("", map[string]*Schema{
		"controller": reference("object", "The controller as it is stored."),
		"parent":     reference("object", "The object whose related objects are asked for."),
	}, "controller", "parent")
	s.Title = "Request to a customize hook, all versions"
	return document(s, map[string]*Schema{"object": observed()})
}

// Answer returns the schema of the answers of sync and finalize hooks.
func Answer(kind Kind, version v1alpha1.HookVersion) *Schema {
	properties := map[string]*Schema{
		"status":             {Type: orNull("object"), Description: "The new status of the parent."},
		kind.children:        {Type: orNull("array"), Items: reference("child", ""), Description: "All objects that should exist. What exists and is not here is deleted."},
		"resyncAfterSeconds": {Type: orNull("number"), Description: "Call again once after so many seconds."},
		"events":             {Type: orNull("array"), MaxItems: 10, Items: reference("event", ""), Description: "What is to be told about the parent or a child."},
		"finalized":          {Type: orNull("boolean"), Description: "Nothing is left to do. It counts in answers of finalize hooks."},
	}
	if kind.changesMetadata {
		changes := &Schema{Type: orNull("string")}
		maps.Copy(properties, map[string]*Schema{
			"labels":      {Type: orNull("object"), AdditionalProperties: changes, Description: "Labels of the target to set, or to remove with null."},
			"annotations": {Type: orNull("object"), AdditionalProperties: changes, Description: "Annotations of the target to set, or to remove with null."},
		})
	}
	s := object("", properties)
	s.Title = fmt.Sprintf("Answer of the sync or finalize hook of a %scontroller, version %s", kind.Name, version)
	return document(readAs(version, s), map[string]*Schema{"child": desired(), "event": event()})
}

// CustomizeAnswer returns the schema of the answers of customize hooks.
func CustomizeAnswer(version v1alpha1.HookVersion) *Schema {
	s := object("", map[string]*Schema{
		"relatedResources": {Type: orNull("array"), Items: reference("rule", ""), Description: "Rules that select objects. The next request shows what they select."},
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
