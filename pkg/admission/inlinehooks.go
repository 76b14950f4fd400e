// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline/check"
)

// Schemas reads the schemas that the host publishes of its types. A kind without one has no entry.
type Schemas interface {
	Of(ctx context.Context, kinds []schema.GroupVersionKind) (map[schema.GroupVersionKind]*check.Schema, error)
}

// inlineRule is an inline hook, its field in the spec, and its form.
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
	types := check.Types{Parents: kindsOf(c.parents, lists), Children: kindsOf(c.children, lists)}
	if types.Schemas, err = h.Schemas.Of(ctx, slices.Concat(types.Parents, types.Children)); err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to read some schemas for inline hooks", "err", err)
	}
	for _, one := range c.inline {
		if template, errs := inline.Compile(one.hook, one.form, one.path); len(errs) == 0 && ctx.Err() == nil {
			warnings = append(warnings, check.Template(template, types)...)
		}
	}
	return warnings
}

// kindsOf returns the kinds of resources; empty ones of those that the host does not serve.
func kindsOf(rules []typeRule, lists []*metav1.APIResourceList) []schema.GroupVersionKind {
	kinds := make([]schema.GroupVersionKind, len(rules))
	for i, rule := range rules {
		for _, list := range lists {
			for _, resource := range list.APIResources {
				if list.GroupVersion == rule.GroupVersion().String() && resource.Name == rule.Resource {
					kinds[i] = rule.GroupVersion().WithKind(resource.Kind)
				}
			}
		}
	}
	return kinds
}
