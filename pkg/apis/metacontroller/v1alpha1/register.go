// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all types of this package.
const GroupName = "metacontroller.k8s.io"

// Category is the word for all kinds of the group in kubectl get.
const Category = "metacontroller"

// SchemeGroupVersion is the group and version of all types of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// InternalGroupVersion is the version to which an API server decodes the types. They are the same.
var InternalGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}

var (
	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes, RegisterDefaults)

	// AddToScheme registers the types of this package and their defaults in a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource name, such as "compositecontrollers", with the group of this package.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&CompositeController{},
		&CompositeControllerList{},
		&ControllerRevision{},
		&ControllerRevisionList{},
		&DecoratorController{},
		&DecoratorControllerList{},
		&HookCall{},
		&HookCallList{},
		&Sync{},
		&SyncList{},
		&ResyncRequest{},
		&SyncReview{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return errors.Join(
		addFieldSelectors(scheme, "Sync", FieldController, FieldKind, FieldParent, FieldState),
		addFieldSelectors(scheme, "HookCall", FieldController, FieldKind, FieldParent, FieldHook, FieldResult),
	)
}
