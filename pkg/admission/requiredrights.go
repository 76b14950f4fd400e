// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// object is what a right is for: one object if name is set, else all objects of a resource.
type object struct {
	schema.GroupResource
	subresource     string
	namespace, name string
}

// right is the right to do something with objects of the host.
type right struct {
	object
	verb string
}

// requiredRight is a right that a controller uses.
type requiredRight struct {
	right
	// path is the field of the spec that makes the controller use it.
	path string
	// to is the address or host that the content of a Secret or ConfigMap is sent to. It is empty
	// for other objects.
	to string
}

const (
	statusSubresource = "status"
	escalate          = "escalate"
)

// requiredRights returns the rights that a controller uses, as far as its spec shows.
func (c *controller) requiredRights() []requiredRight {
	var required []requiredRight
	for _, parent := range c.parents {
		of := object{GroupResource: parent.GroupResource()}
		add := adder(&required, parent.path.String(), "")
		add(of, "get", "list", "watch")
		if c.decorates || c.finalizes {
			add(of, "update")
		}
		if c.decorates {
			add.conferred(of.GroupResource)
		}
		of.subresource = statusSubresource
		add(of, "update")
	}
	for _, child := range c.children {
		add := adder(&required, child.path.String(), "")
		add(object{GroupResource: child.GroupResource()}, "get", "list", "watch", "create", "update", "patch", "delete")
		add.conferred(child.GroupResource())
	}
	for _, hook := range c.hooks {
		addReferences(&required, hook.path, hook.address(), hook.webhook.Connection())
	}
	for i := range c.endpoints {
		endpoint := &c.endpoints[i]
		addReferences(&required, field.NewPath("spec", "endpointConfigs").Index(i), endpoint.Host, endpoint.Connection())
	}
	return required
}

// addReferences adds the right to read each Secret and ConfigMap that the settings refer to. A
// reference without a name or a namespace can refer to nothing.
func addReferences(required *[]requiredRight, path *field.Path, to string, settings metacontroller.Connection) {
	resources := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"}
	for _, ref := range settings.References(path) {
		if ref.Name != "" && ref.Namespace != "" {
			of := object{GroupResource: schema.GroupResource{Resource: resources[ref.Kind]}, namespace: ref.Namespace, name: ref.Name}
			adder(required, ref.Path.String(), to)(of, "get")
		}
	}
}

// add adds required rights to an object.
type add func(of object, verbs ...string)

func adder(required *[]requiredRight, path, to string) add {
	return func(of object, verbs ...string) {
		for _, verb := range verbs {
			*required = append(*required, requiredRight{right: right{object: of, verb: verb}, path: path, to: to})
		}
	}
}

// conferred adds the rights that an API server requires of users who write objects of a type,
// because such objects confer rights. The API server requires them of the controller, which may do
// everything, and not of its author.
func (a add) conferred(of schema.GroupResource) {
	rbac := func(resource string) object {
		return object{GroupResource: schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}}
	}
	switch of {
	case rbac("roles").GroupResource, rbac("clusterroles").GroupResource,
		metacontroller.Resource("compositecontrollers"), metacontroller.Resource("decoratorcontrollers"):
		a(object{GroupResource: of}, escalate)
	case rbac("rolebindings").GroupResource:
		a(rbac("roles"), "bind")
		a(rbac("clusterroles"), "bind")
	case rbac("clusterrolebindings").GroupResource:
		a(rbac("clusterroles"), "bind")
	}
}

// addedRights returns the rights that a controller uses and the stored one does not. stored is nil
// for a new controller. All rights are new if a hook gets another address, or if other authorities
// vouch for it, because another server then gets all rights of the controller.
func (c *controller) addedRights(stored *controller) []requiredRight {
	required := c.requiredRights()
	if stored == nil || !stored.addresses().IsSuperset(c.addresses()) || !equality.Semantic.DeepEqual(c.trust(), stored.trust()) {
		return required
	}
	type use struct {
		right
		to string
	}
	had := sets.New[use]()
	for _, req := range stored.requiredRights() {
		had.Insert(use{req.right, req.to})
	}
	return slices.DeleteFunc(required, func(req requiredRight) bool { return had.Has(use{req.right, req.to}) })
}

// trust returns the authorities that hooks are verified with, by the addresses of hooks and the
// hosts of endpointConfigs.
func (c *controller) trust() map[string]*metacontroller.CABundle {
	trust := map[string]*metacontroller.CABundle{}
	for _, hook := range c.hooks {
		trust["hook "+hook.address()] = hook.webhook.CABundle
	}
	for _, endpoint := range c.endpoints {
		trust["host "+endpoint.Host] = endpoint.CABundle
	}
	maps.DeleteFunc(trust, func(_ string, bundle *metacontroller.CABundle) bool { return bundle == nil })
	return trust
}

// addresses returns the addresses of the hooks.
func (c *controller) addresses() sets.Set[string] {
	addresses := sets.New[string]()
	for _, hook := range c.hooks {
		addresses.Insert(hook.address())
	}
	return addresses
}
