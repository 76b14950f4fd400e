// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

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

// addressPath is the field that says where the hook is.
func (h *hookRule) addressPath() *field.Path {
	if ptr.Deref(h.webhook.URL, "") != "" {
		return h.path.Child("url")
	}
	return h.path.Child("service")
}

// address is the URL that the hook is called at; empty if it has none.
func (h *hookRule) address() string {
	if url := ptr.Deref(h.webhook.URL, ""); url != "" {
		return url
	}
	service := h.webhook.Service
	if service == nil {
		return ""
	}
	protocol := ptr.Deref(service.Protocol, "")
	if protocol == "" {
		protocol = "http"
	}
	return fmt.Sprintf("%s://%s.%s:%d%s", protocol, service.Name, service.Namespace, ptr.Deref(service.Port, 80), ptr.Deref(h.webhook.Path, ""))
}
