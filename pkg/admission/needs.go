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

// object is what a right is for: all objects of a resource, or one by its namespace and name.
type object struct {
	schema.GroupResource
	subresource     string
	namespace, name string
}

// right is to do something with objects of the host.
type right struct {
	object
	verb string
}

// need is a right that a controller uses.
type need struct {
	right
	// path is the field of the spec that it is for.
	path string
	// to is where what is read is sent to; empty if that is the hooks.
	to string
}

const (
	statusSubresource = "status"
	escalate          = "escalate"
)

// needs are the rights that a controller uses, as far as its spec tells.
func (c *controller) needs() []need {
	var needs []need
	for _, parent := range c.parents {
		of := object{GroupResource: parent.GroupResource()}
		add := adder(&needs, parent.path.String(), "")
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
		add := adder(&needs, child.path.String(), "")
		add(object{GroupResource: child.GroupResource()}, "get", "list", "watch", "create", "update", "patch", "delete")
		add.conferred(child.GroupResource())
	}
	for _, hook := range c.hooks {
		addReferences(&needs, hook.path, hook.address(), hook.webhook.Connection())
	}
	for i := range c.endpoints {
		endpoint := &c.endpoints[i]
		addReferences(&needs, field.NewPath("spec", "endpointConfigs").Index(i), endpoint.Host, endpoint.Connection())
	}
	return needs
}

// addReferences adds the right to read each Secret and ConfigMap that the settings refer to. A reference without a name or a
// namespace can refer to nothing.
func addReferences(needs *[]need, path *field.Path, to string, settings metacontroller.Connection) {
	resources := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"}
	for _, ref := range settings.References(path) {
		if ref.Name != "" && ref.Namespace != "" {
			of := object{GroupResource: schema.GroupResource{Resource: resources[ref.Kind]}, namespace: ref.Namespace, name: ref.Name}
			adder(needs, ref.Path.String(), to)(of, "get")
		}
	}
}

// add adds needs of an object.
type add func(of object, verbs ...string)

func adder(needs *[]need, path, to string) add {
	return func(of object, verbs ...string) {
		for _, verb := range verbs {
			*needs = append(*needs, need{right: right{object: of, verb: verb}, path: path, to: to})
		}
	}
}

// conferred adds what an API server asks of those who write objects of a type, because these confer rights. It would ask
// it of the controller, which may do everything, and not of its author.
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

// added are the needs of a controller that it did not have as it was stored; stored is nil if it is new. Who turns a hook
// to another address, or has others vouch for the one it has, gives all the controller's rights to somebody else, so then
// all of them are new.
func (c *controller) added(stored *controller) []need {
	needs := c.needs()
	if stored == nil || !stored.addresses().IsSuperset(c.addresses()) || !equality.Semantic.DeepEqual(c.trust(), stored.trust()) {
		return needs
	}
	type use struct {
		right
		to string
	}
	had := sets.New[use]()
	for _, need := range stored.needs() {
		had.Insert(use{need.right, need.to})
	}
	return slices.DeleteFunc(needs, func(need need) bool { return had.Has(use{need.right, need.to}) })
}

// trust says who vouches for the addresses of hooks: the authorities of hooks, by their addresses, and those of hosts.
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

func (c *controller) addresses() sets.Set[string] {
	addresses := sets.New[string]()
	for _, hook := range c.hooks {
		addresses.Insert(hook.address())
	}
	return addresses
}
