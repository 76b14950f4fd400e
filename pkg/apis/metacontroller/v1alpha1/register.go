// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all types of this package.
const GroupName = "metacontroller.k8s.io"

// Category stands for all kinds of the group in kubectl get.
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

// The fields by which Syncs and HookCalls are selected, besides those of metadata.
const (
	FieldController = "controller"
	FieldKind       = "kind"
	FieldParent     = "parent"
	FieldState      = "state"
	FieldHook       = "hook"
	FieldResult     = "result"
)

// addFieldSelectors registers the fields by which objects of a kind are selected.
func addFieldSelectors(scheme *runtime.Scheme, kind string, known ...string) error {
	known = append(known, "metadata.name", "metadata.namespace")
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind),
		func(label, value string) (string, string, error) {
			if !slices.Contains(known, label) {
				return "", "", fmt.Errorf("%q is not a field selector of a %s; supported are: %s", label, kind, strings.Join(known, ", "))
			}
			return label, value, nil
		})
}

// NotForSyncs is the reason that InMemory objects cannot be parents or children.
const NotForSyncs = "is served from the memory of the server and changes with each sync, " +
	"so a controller that depends on it would keep itself busy; use metrics, or a program that watches it"

// InMemory reports whether the server serves objects of a type from memory, and does not store them. They change with
// each sync, so they cannot be parents, targets, children or related objects.
func InMemory(of schema.GroupResource) bool {
	switch of {
	case Resource("syncs"), Resource("hookcalls"), Resource("syncreviews"):
		return true
	}
	return false
}
