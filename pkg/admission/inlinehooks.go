// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline/check"
)

// Schemas reads the schemas that the host publishes of its types.
type Schemas interface {
	ResolveSchema(schema.GroupVersionKind) (*spec.Schema, error)
}

// inlineRule is a hook that is written in the controller.
type inlineRule struct {
	path *field.Path
	hook *v1alpha1.InlineHook
	form inline.Form
}

func (c *controller) addInline(name string, hook *v1alpha1.Hook) {
	if hook != nil && hook.Inline != nil {
		path := field.NewPath("spec", "hooks", name, "inline")
		c.inline = append(c.inline, inlineRule{path, hook.Inline, inline.FormOf(name, c.decorates)})
	}
}

// inlineHooks returns warnings about inline hooks that do not fit the schemas of the host.
func (h Host) inlineHooks(ctx context.Context, c *controller) (warnings []string) {
	if len(c.inline) == 0 || h.Schemas == nil {
		return nil
	}
	_, lists, err := h.lookUpTypes(ctx, slices.Concat(c.parents, c.children))
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to read the types of a controller for its inline hooks", "err", err)
		return nil
	}
	found := schemasOf{host: h, controller: c, lists: lists, read: map[schema.GroupVersionKind]*spec.Schema{}}
	schemas := check.Schemas{Child: func(apiVersion, kind string) (of *spec.Schema, name, problem string) {
		return found.child(ctx, apiVersion, kind)
	}}
	if len(c.parents) == 1 { // those of several types may have different fields
		if kind := found.kindOf(c.parents[0]); !kind.Empty() {
			schemas.Parent, schemas.ParentType = found.schema(ctx, kind), nameOf(kind)
		}
	}
	for _, one := range c.inline {
		if ctx.Err() != nil {
			return warnings
		}
		warnings = append(warnings, check.Hook(one.hook, one.form, one.path, schemas)...)
	}
	return warnings
}

// schemasOf are the schemas of the types of one controller.
type schemasOf struct {
	host       Host
	controller *controller
	lists      []*metav1.APIResourceList
	read       map[schema.GroupVersionKind]*spec.Schema
}

// schema returns the schema of a kind; nil if the host does not publish one.
func (s *schemasOf) schema(ctx context.Context, kind schema.GroupVersionKind) *spec.Schema {
	if of, known := s.read[kind]; known || ctx.Err() != nil {
		return of
	}
	of, err := s.host.Schemas.ResolveSchema(kind)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to read a schema for inline hooks", "kind", kind, "err", err)
	}
	s.read[kind] = of
	return of
}

// kindOf returns the kind of a resource; empty if the host does not serve it.
func (s *schemasOf) kindOf(rule typeRule) schema.GroupVersionKind {
	for _, list := range s.lists {
		if list.GroupVersion != rule.GroupVersion().String() {
			continue
		}
		for _, resource := range list.APIResources {
			if resource.Name == rule.Resource {
				return rule.GroupVersion().WithKind(resource.Kind)
			}
		}
	}
	return schema.GroupVersionKind{}
}

// child implements check.Schemas.Child.
func (s *schemasOf) child(
	ctx context.Context, apiVersion, kind string,
) (of *spec.Schema, name, problem string) {
	var declared []string
	for _, rule := range s.controller.children {
		child := s.kindOf(rule)
		if child.Empty() {
			return nil, "", "" // the host does not serve a type yet
		}
		if child == schema.FromAPIVersionAndKind(apiVersion, kind) {
			return s.schema(ctx, child), nameOf(child), ""
		}
		if child.Kind == kind && child.GroupKind() == schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind() {
			return nil, "", "" // another version of a declared type
		}
		declared = append(declared, nameOf(child))
	}
	rules := "spec.childResources"
	if s.controller.decorates {
		rules = "spec.attachments"
	}
	return nil, "", fmt.Sprintf("%s declares no kind %q in apiVersion %q, so the object is left out; declared are: %s",
		rules, kind, apiVersion, strings.Join(declared, ", "))
}

// nameOf returns a kind as other messages name it.
func nameOf(kind schema.GroupVersionKind) string {
	return kind.Kind + "." + kind.GroupVersion().String()
}
