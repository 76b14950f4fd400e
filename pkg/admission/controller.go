// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// controller is what CompositeControllers and DecoratorControllers have in common.
type controller struct {
	// parents are the types whose objects are synced, children those whose objects are made.
	parents, children []typeRule
	hooks             []hookRule
	endpoints         []metacontroller.EndpointConfig
	// decorates tells that parents get labels and annotations, too.
	decorates bool
	// finalizes tells that parents get a finalizer.
	finalizes bool
	// spec is all of it.
	spec any
}

// typeRule names a type of the host, and where the spec does.
type typeRule struct {
	path *field.Path
	schema.GroupVersionResource
	// selector chooses the objects of a CompositeController's parents.
	selector *metav1.LabelSelector
}

// hookRule is a hook that has a webhook, and where it is.
type hookRule struct {
	path    *field.Path // of the webhook
	webhook *metacontroller.Webhook
	// called tells that there is something that calls it.
	called bool
}

// controllerOf returns nil for what is no controller.
func controllerOf(object runtime.Object) *controller {
	switch object := object.(type) {
	case *metacontroller.CompositeController:
		return composite(&object.Spec)
	case *metacontroller.DecoratorController:
		return decorator(&object.Spec)
	}
	return nil
}

func composite(spec *metacontroller.CompositeControllerSpec) *controller {
	path := field.NewPath("spec")
	c := &controller{endpoints: spec.EndpointConfigs, spec: spec}
	c.parents = appendType(nil, spec.ParentResource.ResourceRule, path.Child("parentResource"))
	for i := range c.parents {
		c.parents[i].selector = spec.ParentResource.LabelSelector
	}
	for i, rule := range spec.ChildResources {
		c.children = appendType(c.children, rule.ResourceRule, path.Child("childResources").Index(i))
	}
	if hooks := spec.Hooks; hooks != nil {
		c.finalizes = hooks.Finalize != nil
		c.addHook("sync", hooks.Sync, true)
		c.addHook("finalize", hooks.Finalize, true)
		c.addHook("customize", hooks.Customize, true)
		c.addHook("preUpdateChild", hooks.PreUpdateChild, false)
		c.addHook("postUpdateChild", hooks.PostUpdateChild, false)
	}
	return c
}

func decorator(spec *metacontroller.DecoratorControllerSpec) *controller {
	path := field.NewPath("spec")
	c := &controller{endpoints: spec.EndpointConfigs, decorates: true, spec: spec}
	for i, rule := range spec.Resources {
		c.parents = appendType(c.parents, rule.ResourceRule, path.Child("resources").Index(i))
	}
	for i, rule := range spec.Attachments {
		c.children = appendType(c.children, rule.ResourceRule, path.Child("attachments").Index(i))
	}
	if hooks := spec.Hooks; hooks != nil {
		c.finalizes = hooks.Finalize != nil
		c.addHook("sync", hooks.Sync, true)
		c.addHook("finalize", hooks.Finalize, true)
		c.addHook("customize", hooks.Customize, true)
	}
	return c
}

// appendType leaves out what names no type: it was stored before it was validated, and cannot run.
func appendType(to []typeRule, rule metacontroller.ResourceRule, path *field.Path) []typeRule {
	version, err := schema.ParseGroupVersion(rule.APIVersion)
	if err != nil || version.Version == "" || rule.Resource == "" {
		return to
	}
	return append(to, typeRule{path: path, GroupVersionResource: version.WithResource(rule.Resource)})
}

func (c *controller) addHook(name string, hook *metacontroller.Hook, called bool) {
	if hook != nil && hook.Webhook != nil {
		c.hooks = append(c.hooks, hookRule{path: field.NewPath("spec", "hooks", name, "webhook"), webhook: hook.Webhook, called: called})
	}
}

// addressPath returns the field that gives the hook's address.
func (h *hookRule) addressPath() *field.Path {
	if h.webhook.Address().HasURL() {
		return h.path.Child("url")
	}
	return h.path.Child("service")
}

// address returns the URL that the hook is called at, or "" if it has none.
func (h *hookRule) address() string { return h.webhook.Address().Raw() }
