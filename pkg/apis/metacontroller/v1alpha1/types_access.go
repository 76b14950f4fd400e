// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Access says as whom a controller acts, and what it may reach.
type Access struct {
	// serviceAccount is the ServiceAccount that the controller acts as, for instance {namespace: shop, name: websites}. Whatever the
	// controller writes to the cluster is written as that account, and its hooks are shown only what the account may list and
	// watch. While the account lacks a right to read what the controller needs, the controller stands still (Ready is False, reason Forbidden).
	// Whoever creates or changes the controller needs the right to impersonate the account, and no other right of those that the controller uses.
	// Default: absent, the controller acts as the server, and its author needs every right that the controller uses.
	// +optional
	ServiceAccount *ServiceAccountReference `json:"serviceAccount,omitempty"`

	// namespaces limits the controller to these namespaces: it handles only parents, children and related objects in them, and
	// rights are asked for in them instead of in the whole cluster. All its types must then be namespaced. For instance [shop, shop-test].
	// Objects of a namespace that is taken from the list are left alone, with their children; only the finalizer of the controller is removed.
	// Default: empty, all namespaces and cluster-scoped objects.
	// +listType=atomic
	// +optional
	Namespaces []string `json:"namespaces,omitzero"`

	// relatedResources lists the types that the customize hook may ask for, for instance [{apiVersion: v1, resource: nodes}]. An answer
	// that asks for objects of another type is an error of its parent.
	// Default: empty, any type. Without a serviceAccount, the author of a controller with a customize hook must then be allowed to
	// get, list and watch everything.
	// +listType=atomic
	// +optional
	RelatedResources []ResourceRule `json:"relatedResources,omitzero"`
}

// ServiceAccountReference names a ServiceAccount of the cluster.
type ServiceAccountReference struct {
	// namespace is the namespace of the ServiceAccount.
	Namespace string `json:"namespace"`

	// name is the name of the ServiceAccount.
	Name string `json:"name"`
}
