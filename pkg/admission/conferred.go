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

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

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

// conferring is a type of which the host decides by who the writer is: it requires more of the writer
// than the right to write, or puts the writer's name to the object. The writer is the server, which
// may do everything. So the author needs the rights that make this decision harmless.
type conferring struct {
	schema.GroupResource
	parts []written
	// scope is where the host asks for the rights.
	scope scope
	needs []rights.Right
}

// scope says where a right is needed.
type scope bool

const (
	// whereItIs is where the object is: in its namespace, if it has one.
	whereItIs scope = false
	// everywhere is the whole cluster, also for an object in a namespace.
	everywhere scope = true
)

// conferringTypes returns all types that confer rights, of Kubernetes 1.36 and of this API. They were
// found in plugin/pkg/admission and in the callers of Authorize in pkg/registry.
//
// Two things are not here. One is what a host may require of the writers of any type: the plugin
// OwnerReferencesPermissionEnforcement, which is off by default, wants the right to update finalizers
// of the parent. The other is what only the configuration of a host knows: users that PodSecurity
// exempts, and plugins, webhooks and policies that ask who the user is.
func conferringTypes() []conferring {
	objectOrMetadata := []written{theObject, itsMetadata}
	anything := schema.GroupResource{Group: "*", Resource: "*"}
	readsParameters := rightsTo(anything, "get")
	readsAnyParameters := rightsTo(anything, "get", "list")
	return []conferring{
		// Who writes a role must have the rights in it.
		{rbac("roles"), objectOrMetadata, whereItIs, rightsTo(rbac("roles"), escalate)},
		{rbac("clusterroles"), objectOrMetadata, whereItIs, rightsTo(rbac("clusterroles"), escalate)},
		// Who writes a binding must have the rights of its role.
		{rbac("rolebindings"), objectOrMetadata, whereItIs, slices.Concat(rightsTo(rbac("roles"), "bind"), rightsTo(rbac("clusterroles"), "bind"))},
		{rbac("clusterrolebindings"), objectOrMetadata, whereItIs, rightsTo(rbac("clusterroles"), "bind")},
		// Who writes a controller must have the rights that it uses.
		{v1alpha1.Resource("compositecontrollers"), objectOrMetadata, whereItIs, rightsTo(v1alpha1.Resource("compositecontrollers"), escalate)},
		{v1alpha1.Resource("decoratorcontrollers"), objectOrMetadata, whereItIs, rightsTo(v1alpha1.Resource("decoratorcontrollers"), escalate)},
		// Who writes a ControllerRevision decides what hooks are shown of a parent.
		{
			v1alpha1.Resource("controllerrevisions"), objectOrMetadata, whereItIs,
			rightsTo(v1alpha1.Resource("controllerrevisions"), restore),
		},
		// The host writes the creator into a request, and who approves requests decides by that. An author
		// who may approve any request gains nothing by the name of the server.
		{
			certificates("certificatesigningrequests"), []written{theObject}, everywhere,
			slices.Concat(subresource("approval", rightsTo(certificates("certificatesigningrequests"), "update")), rightsTo(certificates("signers"), "approve")),
		},
		// Who writes the status of a request, which has the certificate, must be allowed to sign it.
		{certificates("certificatesigningrequests"), []written{itsStatus}, everywhere, rightsTo(certificates("signers"), "sign")},
		{certificates("podcertificaterequests"), []written{itsStatus}, everywhere, rightsTo(certificates("signers"), "sign")},
		// Who writes a bundle must be allowed to attest for its signer.
		{certificates("clustertrustbundles"), objectOrMetadata, everywhere, rightsTo(certificates("signers"), "attest")},
		// Who writes a policy must be allowed to read its parameters, which may be of any type.
		{policies("validatingadmissionpolicies"), []written{theObject}, everywhere, readsParameters},
		{policies("mutatingadmissionpolicies"), []written{theObject}, everywhere, readsParameters},
		{policies("validatingadmissionpolicybindings"), []written{theObject}, everywhere, readsAnyParameters},
		{policies("mutatingadmissionpolicybindings"), []written{theObject}, everywhere, readsAnyParameters},
		// Who allocates devices to a claim must be allowed to bind it, and who reports on them must be
		// their driver.
		{devices("resourceclaims"), []written{itsStatus}, everywhere, subresource(resourcev1.SubresourceBinding, rightsTo(devices("resourceclaims"), "update"))},
		{devices("resourceclaims"), []written{itsStatus}, whereItIs, subresource(resourcev1.SubresourceDriver, rightsTo(devices("resourceclaims"), resourcev1.VerbPrefixArbitraryNode+"update"))},
	}
}

// conferred returns the rights that an author needs beside the right to write a part of the objects of
// a type.
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
