// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

const (
	statusSubresource = "status"
	escalate          = "escalate"
	impersonate       = "impersonate"
)

// requiredRights returns the rights that the author of a controller needs, as far as its spec shows. known has the
// types that the host serves. The author of a controller with a service account needs only the right to impersonate it;
// the rights of that account are in Reads of parentcontroller.Spec.
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
	for _, watched := range c.watched {
		required.toRead(watched)
	}
	for _, hook := range c.hooks {
		required.ofConnection(hook.path, hook.webhook.Connection())
	}
	for i := range c.endpoints {
		required.ofConnection(field.NewPath("spec", "endpointConfigs").Index(i), c.endpoints[i].Connection())
	}
	return required.all
}

// typesToLookUp returns the types that requiredRights needs to know.
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

// toImpersonate adds the right to act as a service account. An author with this right needs no other right, because the
// author can act as that account.
func (r *rightsCollector) toImpersonate(account *v1alpha1.ServiceAccountReference) {
	of := rights.Object{GroupResource: schema.GroupResource{Resource: "serviceaccounts"},
		Namespace: account.Namespace, Name: account.Name}
	r.all = append(r.all, rights.To(of, field.NewPath("spec", "serviceAccount").String(), impersonate)...)
}

// ofParents adds the rights to parents. The status of a type that the host does not serve yet is
// assumed to be a subresource.
func (r *rightsCollector) ofParents(parent typeRule, decorates, finalizes bool) {
	of, known := parent.GroupResource(), r.known[parent.GroupVersionResource]
	r.toRead(parent)
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

// ofRelated adds the rights to the types that a customize hook may select: the declared types, or else all types.
func (r *rightsCollector) ofRelated(declared []typeRule) {
	if len(declared) == 0 {
		declared = []typeRule{{path: customizePath(),
			GroupVersionResource: schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}}}
	}
	for _, related := range declared {
		r.toRead(related)
	}
}

// toRead adds the rights to read the objects of a type, or the one that the rule names.
func (r *rightsCollector) toRead(rule typeRule) {
	for _, of := range r.objectsOf(rule) {
		r.all = append(r.all, rights.ToRead(of, rule.path.String())...)
	}
}

func customizePath() *field.Path { return field.NewPath("spec", "hooks", "customize") }

// ofConnection adds the right to read each Secret and ConfigMap that the settings refer to.
func (r *rightsCollector) ofConnection(path *field.Path, settings v1alpha1.Connection) {
	resources := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"}
	for _, ref := range settings.References(path) {
		of := rights.Object{GroupResource: schema.GroupResource{Resource: resources[ref.Kind]}, Namespace: ref.Namespace,
			Name: ref.Name}
		r.all = append(r.all, rights.ToReadReference(of, ref.Path.String())...)
	}
}

// objectsOf returns the objects of a type that the controller may reach, or the one that the rule names. A type that
// the host does not serve yet is assumed to be namespaced.
func (r *rightsCollector) objectsOf(rule typeRule) []rights.Object {
	if one := rule.object; one != nil {
		return []rights.Object{{GroupResource: rule.GroupResource(), Namespace: one.Namespace, Name: one.Name}}
	}
	known := r.known[rule.GroupVersionResource]
	return rights.ObjectsOf(rule.GroupResource(), known.namespaced || !known.served, r.namespaces)
}

// add adds rights where the objects of a type are.
func (r *rightsCollector) add(rule typeRule, all []rights.Right) {
	for _, of := range r.objectsOf(rule) {
		r.addIn(of.Namespace, rule, all)
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

// written is the part of an object that a controller writes.
type written string

const (
	// theObject is all but the status: of children and attachments.
	theObject written = "object"
	// itsMetadata are labels, annotations and finalizers: of the targets of a DecoratorController.
	itsMetadata written = "metadata"
	// itsStatus is the status: of all parents.
	itsStatus written = "status"
)

// conferring is a type for which the identity of the writer matters: the host requires more than the right to write, or
// records the writer in the object. The writer is the server, which may do everything. Therefore the author of a
// controller needs the rights that the host would require of the author.
type conferring struct {
	schema.GroupResource
	parts []written
	// scope says in which scope the host requires the rights.
	scope scope
	needs []rights.Right
}

// scope is where a right is needed.
type scope bool

const (
	// whereItIs is where the object is: in its namespace, if it has one.
	whereItIs scope = false
	// everywhere is the entire cluster, also for an object in a namespace.
	everywhere scope = true
)

// conferringTypes returns all types that confer rights, of Kubernetes 1.36 and of this API. They were
// found in plugin/pkg/admission and in the callers of Authorize in pkg/registry.
//
// Two things are not here. One is a right that a host may require of the writers of any type: the plugin
// OwnerReferencesPermissionEnforcement, which is off by default, requires the right to update finalizers of the parent.
// The other are rights that depend on the configuration of a host: users that PodSecurity exempts, and plugins,
// webhooks and policies that check who the user is.
func conferringTypes() []conferring {
	objectOrMetadata := []written{theObject, itsMetadata}
	anything := schema.GroupResource{Group: "*", Resource: "*"}
	readsParameters := rightsTo(anything, "get")
	readsAnyParameters := rightsTo(anything, "get", "list")
	return []conferring{
		// The writer of a role must have the rights in it.
		{rbac("roles"), objectOrMetadata, whereItIs, rightsTo(rbac("roles"), escalate)},
		{rbac("clusterroles"), objectOrMetadata, whereItIs, rightsTo(rbac("clusterroles"), escalate)},
		// The writer of a binding must have the rights of its role.
		{rbac("rolebindings"), objectOrMetadata, whereItIs,
			slices.Concat(rightsTo(rbac("roles"), "bind"), rightsTo(rbac("clusterroles"), "bind"))},
		{rbac("clusterrolebindings"), objectOrMetadata, whereItIs, rightsTo(rbac("clusterroles"), "bind")},
		// The writer of a controller must have the rights that it uses.
		{v1alpha1.Resource("compositecontrollers"), objectOrMetadata, whereItIs,
			rightsTo(v1alpha1.Resource("compositecontrollers"), escalate)},
		{v1alpha1.Resource("decoratorcontrollers"), objectOrMetadata, whereItIs,
			rightsTo(v1alpha1.Resource("decoratorcontrollers"), escalate)},
		// The writer of a ControllerRevision decides what hooks see of a parent.
		{
			v1alpha1.Resource("controllerrevisions"), objectOrMetadata, whereItIs,
			rightsTo(v1alpha1.Resource("controllerrevisions"), restore),
		},
		// The host writes the creator into a request, and approvers decide by the creator. An author who may approve any
		// request gains nothing from the name of the server.
		{
			certificates("certificatesigningrequests"), []written{theObject}, everywhere,
			slices.Concat(subresource("approval", rightsTo(certificates("certificatesigningrequests"), "update")),
				rightsTo(certificates("signers"), "approve")),
		},
		// The writer of the status of a request, which has the certificate, must be allowed to sign it.
		{certificates("certificatesigningrequests"), []written{itsStatus}, everywhere,
			rightsTo(certificates("signers"), "sign")},
		{certificates("podcertificaterequests"), []written{itsStatus}, everywhere, rightsTo(certificates("signers"), "sign")},
		// The writer of a bundle must be allowed to attest for its signer.
		{certificates("clustertrustbundles"), objectOrMetadata, everywhere, rightsTo(certificates("signers"), "attest")},
		// A user who writes a policy must be allowed to read its parameters, which can have any type.
		{policies("validatingadmissionpolicies"), []written{theObject}, everywhere, readsParameters},
		{policies("mutatingadmissionpolicies"), []written{theObject}, everywhere, readsParameters},
		{policies("validatingadmissionpolicybindings"), []written{theObject}, everywhere, readsAnyParameters},
		{policies("mutatingadmissionpolicybindings"), []written{theObject}, everywhere, readsAnyParameters},
		// A user who allocates devices to a claim must be allowed to bind it, and a user who reports on them must be
		// their driver.
		{devices("resourceclaims"), []written{itsStatus}, everywhere,
			subresource(resourcev1.SubresourceBinding, rightsTo(devices("resourceclaims"), "update"))},
		{devices("resourceclaims"), []written{itsStatus}, whereItIs, subresource(resourcev1.SubresourceDriver,
			rightsTo(devices("resourceclaims"), resourcev1.VerbPrefixArbitraryNode+"update"))},
	}
}

// conferred returns the rights that an author needs in addition to the right to write a part of the objects of a
// type.
func conferred(of schema.GroupResource, part written) (all []conferring) {
	for _, known := range conferringTypes() {
		if known.GroupResource == of && slices.Contains(known.parts, part) {
			all = append(all, known)
		}
	}
	return all
}

func rightsTo(of schema.GroupResource, verbs ...string) (all []rights.Right) {
	for _, verb := range verbs {
		all = append(all, rights.Right{Object: rights.Object{GroupResource: of}, Verb: verb})
	}
	return all
}

func subresource(name string, of []rights.Right) []rights.Right {
	for i := range of {
		of[i].Subresource = name
	}
	return of
}

func rbac(resource string) schema.GroupResource {
	return schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}
}

func certificates(resource string) schema.GroupResource {
	return schema.GroupResource{Group: certificatesv1.GroupName, Resource: resource}
}

func policies(resource string) schema.GroupResource {
	return schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: resource}
}

func devices(resource string) schema.GroupResource {
	return schema.GroupResource{Group: resourcev1.GroupName, Resource: resource}
}
