// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// controller has the fields that CompositeControllers and DecoratorControllers have in common.
type controller struct {
	// parents are the types of the objects that are synced, children those of the objects that are
	// created for them.
	parents, children []typeRule
	// related are the types that the customize hook may ask for; if empty, it may ask for all.
	related []typeRule
	access  v1alpha1.Access
	// watched are the objects of resyncOn.
	watched   []typeRule
	hooks     []hookRule
	inline    []inlineRule
	endpoints []v1alpha1.EndpointConfig
	// decorates is true for a DecoratorController, which writes labels and annotations of parents,
	// too.
	decorates bool
	// finalizes is true if parents get a finalizer.
	finalizes bool
	// customizes is true if there is a customize hook.
	customizes bool
	// rolls is true if a child type has a rolling update method.
	rolls bool
	// spec is the complete spec.
	spec any
}

// typeRule is a type of the host and the field of the spec that names it.
type typeRule struct {
	path *field.Path
	schema.GroupVersionResource
	// selector and annotations select parents; nil selects all objects of the type.
	selector    *v1alpha1.LabelSelector
	annotations *v1alpha1.AnnotationSelector
	// object is the one object that the field names; nil if it names only the type.
	object *types.NamespacedName
}

// hookRule is a hook with a webhook.
type hookRule struct {
	path    *field.Path // the field of the webhook
	webhook *v1alpha1.Webhook
	// called is false for the hooks of the original that are never called.
	called bool
}

// controllerOf returns the controller that a CompositeController or a DecoratorController describes, and nil for any
// other object.
func controllerOf(object runtime.Object) *controller {
	switch object := object.(type) {
	case *v1alpha1.CompositeController:
		return composite(&object.Spec)
	case *v1alpha1.DecoratorController:
		return decorator(&object.Spec)
	}
	return nil
}

// hasSpecOf reports whether a controller has the spec of the stored one. stored is nil for a new
// controller.
func (c *controller) hasSpecOf(stored *controller) bool {
	return stored != nil && apiequality.Semantic.DeepEqual(c.spec, stored.spec)
}

// newController returns a controller with the fields that both kinds have.
func newController(spec any, common v1alpha1.Common) *controller {
	path := field.NewPath("spec")
	c := &controller{spec: spec, access: *common.Access, endpoints: common.EndpointConfigs}
	c.addRelated(path.Child("relatedResources"))
	c.addWatched(common.ResyncOn, path.Child("resyncOn"))
	return c
}

func composite(spec *v1alpha1.CompositeControllerSpec) *controller {
	path := field.NewPath("spec")
	c := newController(spec, spec.Common())
	c.parents = appendType(nil, spec.ParentResource.ResourceRule, path.Child("parentResource"))
	for i := range c.parents {
		c.parents[i].selector = spec.ParentResource.LabelSelector
	}
	for i, rule := range spec.ChildResources {
		c.children = appendType(c.children, rule.ResourceRule, path.Child("childResources").Index(i))
		c.rolls = c.rolls || rule.UpdateStrategy.Rolls()
	}
	if hooks := spec.Hooks; hooks != nil {
		c.finalizes = hooks.Finalize != nil
		c.customizes = hooks.Customize.IsCalled()
		c.addHook("sync", hooks.Sync, true)
		c.addHook("finalize", hooks.Finalize, true)
		c.addHook("customize", hooks.Customize, true)
		c.addHook("preUpdateChild", hooks.PreUpdateChild, false)
		c.addHook("postUpdateChild", hooks.PostUpdateChild, false)
	}
	return c
}

func decorator(spec *v1alpha1.DecoratorControllerSpec) *controller {
	path := field.NewPath("spec")
	c := newController(spec, spec.Common())
	c.decorates = true
	for i, rule := range spec.Resources {
		before := len(c.parents)
		c.parents = appendType(c.parents, rule.ResourceRule, path.Child("resources").Index(i))
		for j := before; j < len(c.parents); j++ {
			c.parents[j].selector, c.parents[j].annotations = rule.LabelSelector, rule.AnnotationSelector
		}
	}
	for i, rule := range spec.Attachments {
		c.children = appendType(c.children, rule.ResourceRule, path.Child("attachments").Index(i))
	}
	if hooks := spec.Hooks; hooks != nil {
		c.finalizes = hooks.Finalize != nil
		c.customizes = hooks.Customize.IsCalled()
		c.addHook("sync", hooks.Sync, true)
		c.addHook("finalize", hooks.Finalize, true)
		c.addHook("customize", hooks.Customize, true)
	}
	return c
}

// addresses returns the addresses of the hooks.
func (c *controller) addresses() sets.Set[string] {
	addresses := sets.New[string]()
	for _, hook := range c.hooks {
		addresses.Insert(hook.address())
	}
	return addresses
}

// appendType appends the type of a rule unless the rule names none. Such a rule was stored before
// there was validation, and cannot run.
func appendType(to []typeRule, rule v1alpha1.ResourceRule, path *field.Path) []typeRule {
	version, err := schema.ParseGroupVersion(rule.APIVersion)
	if err != nil || version.Version == "" || rule.Resource == "" {
		return to
	}
	return append(to, typeRule{path: path, GroupVersionResource: version.WithResource(rule.Resource)})
}

func (c *controller) addRelated(path *field.Path) {
	for i, rule := range c.access.RelatedResources {
		c.related = appendType(c.related, rule, path.Index(i))
	}
}

func (c *controller) addWatched(objects []v1alpha1.WatchedObject, path *field.Path) {
	for i, object := range objects {
		for _, rule := range appendType(nil, object.ResourceRule, path.Index(i)) {
			rule.object = &types.NamespacedName{Namespace: ptr.Deref(object.Namespace, ""), Name: object.Name}
			c.watched = append(c.watched, rule)
		}
	}
}

func (c *controller) addHook(name string, hook *v1alpha1.Hook, called bool) {
	if called {
		c.addInline(name, hook)
	}
	if hook != nil && hook.Webhook != nil {
		c.hooks = append(c.hooks, hookRule{path: field.NewPath("spec", "hooks", name, "webhook"), webhook: hook.Webhook,
			called: called})
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
