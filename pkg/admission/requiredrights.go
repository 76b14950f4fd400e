// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

const (
	statusSubresource = "status"
	escalate          = "escalate"
	impersonate       = "impersonate"
)

// requiredRights returns the rights that the author of a controller needs, as far as its spec shows.
// known is what the host answers about its types.
func (c *controller) requiredRights(known map[schema.GroupVersionResource]typeInfo) []rights.Required {
	required := &rightsCollector{namespaces: c.access.Namespaces, known: known}
	if c.access.ServiceAccount != nil {
		required.toImpersonate(c.access.ServiceAccount)
		return required.all
	}
	for _, parent := range c.parents {
		required.ofParents(parent, c.decorates, c.finalizes)
	}
	for _, child := range c.children {
		required.ofChildren(child)
	}
	if c.customizes {
		required.ofRelated(c.related)
	}
	for i, rule := range c.watched {
		required.ofWatched(rule, c.watchedNames[i])
	}
	for _, hook := range c.hooks {
		required.ofConnection(hook.path, hook.webhook.Connection())
	}
	for i := range c.endpoints {
		required.ofConnection(field.NewPath("spec", "endpointConfigs").Index(i), c.endpoints[i].Connection())
	}
	return required.all
}

// typesToLookUp returns the types of which requiredRights has to know something.
func (c *controller) typesToLookUp() []typeRule {
	switch {
	case c.access.ServiceAccount != nil:
		return nil
	case len(c.access.Namespaces) > 0:
		return slices.Concat(c.parents, c.children, c.related)
	}
	return c.parents
}

// readsAnything reports whether a customize hook may ask for objects of any type, which the server reads
// with its own rights.
func (c *controller) readsAnything() bool {
	return c.customizes && len(c.related) == 0 && c.access.ServiceAccount == nil
}

// rightsCollector collects rights, each with the field that requires it.
type rightsCollector struct {
	all        []rights.Required
	namespaces []string
	known      map[schema.GroupVersionResource]typeInfo
}

// toImpersonate adds the right to act as a service account. Who has it needs no other right: the
// controller can do what the author can do as that account.
func (r *rightsCollector) toImpersonate(account *v1alpha1.ServiceAccountReference) {
	right := rights.Right{Object: rights.Object{GroupResource: schema.GroupResource{Resource: "serviceaccounts"}, Namespace: account.Namespace, Name: account.Name}, Verb: impersonate}
	r.all = append(r.all, rights.Required{Right: right, For: field.NewPath("spec", "serviceAccount").String()})
}

// ofParents adds the rights to parents. The status of a type that the host does not serve yet is
// assumed to be a subresource.
func (r *rightsCollector) ofParents(parent typeRule, decorates, finalizes bool) {
	of, known := parent.GroupResource(), r.known[parent.GroupVersionResource]
	r.add(parent, rightsTo(of, "get", "list", "watch"))
	if decorates || finalizes {
		r.add(parent, rightsTo(of, "update"))
	}
	if decorates {
		r.addConferred(parent, itsMetadata)
	}
	if known.served && !known.hasStatus {
		r.add(parent, rightsTo(of, "update"))
	} else {
		r.add(parent, subresource(statusSubresource, rightsTo(of, "update")))
	}
	r.addConferred(parent, itsStatus)
}

func (r *rightsCollector) ofChildren(child typeRule) {
	r.add(child, rightsTo(child.GroupResource(), "get", "list", "watch", "create", "update", "patch", "delete"))
	r.addConferred(child, theObject)
}

// ofRelated adds the rights to what a customize hook may ask for: to the types that are declared, or
// else to all types.
func (r *rightsCollector) ofRelated(declared []typeRule) {
	if len(declared) == 0 {
		declared = []typeRule{{path: customizePath(), GroupVersionResource: schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}}}
	}
	for _, related := range declared {
		r.add(related, rightsTo(related.GroupResource(), "get", "list", "watch"))
	}
}

// ofWatched adds the rights to an object of resyncOn.
func (r *rightsCollector) ofWatched(rule typeRule, name types.NamespacedName) {
	of := rights.Object{GroupResource: rule.GroupResource(), Namespace: name.Namespace, Name: name.Name}
	for _, verb := range []string{"get", "list", "watch"} {
		r.all = append(r.all, rights.Required{Right: rights.Right{Object: of, Verb: verb}, For: rule.path.String()})
	}
}

func customizePath() *field.Path { return field.NewPath("spec", "hooks", "customize") }

// ofConnection adds the right to read each Secret and ConfigMap that the settings refer to. A reference
// without a name or a namespace can refer to nothing.
func (r *rightsCollector) ofConnection(path *field.Path, settings v1alpha1.Connection) {
	resources := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"}
	for _, ref := range settings.References(path) {
		if ref.Name != "" && ref.Namespace != "" {
			of := rights.Object{GroupResource: schema.GroupResource{Resource: resources[ref.Kind]}, Namespace: ref.Namespace, Name: ref.Name}
			r.all = append(r.all, rights.Required{Right: rights.Right{Object: of, Verb: "get"}, For: ref.Path.String()})
		}
	}
}

// add adds rights to the objects of a type: in the namespaces of the controller, or in the whole cluster
// if it has none or the objects are in none.
func (r *rightsCollector) add(rule typeRule, all []rights.Right) {
	known := r.known[rule.GroupVersionResource]
	if len(r.namespaces) == 0 || known.served && !known.namespaced {
		r.addIn("", rule, all)
		return
	}
	for _, namespace := range r.namespaces {
		r.addIn(namespace, rule, all)
	}
}

func (r *rightsCollector) addConferred(rule typeRule, part written) {
	for _, conferred := range conferred(rule.GroupResource(), part) {
		if conferred.scope == everywhere {
			r.addIn("", rule, conferred.needs)
		} else {
			r.add(rule, conferred.needs)
		}
	}
}

func (r *rightsCollector) addIn(namespace string, rule typeRule, all []rights.Right) {
	for _, right := range all {
		right.Namespace = namespace
		r.all = append(r.all, rights.Required{Right: right, For: rule.path.String()})
	}
}
