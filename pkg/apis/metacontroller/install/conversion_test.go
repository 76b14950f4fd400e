// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Policies and webhooks of the cluster are given objects of v1alpha1. An object that was read has no version.
func TestAdmissionConvertsEachKind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := Install(scheme); err != nil {
		t.Fatal(err)
	}
	interfaces := admission.NewObjectInterfacesFromScheme(scheme)
	for kind := range scheme.KnownTypes(v1alpha1.InternalGroupVersion) {
		read, err := scheme.New(v1alpha1.InternalGroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		object, isObject := read.(metav1.Object)
		if !isObject {
			continue // a list
		}
		object.SetName("a")
		want := v1alpha1.SchemeGroupVersion.WithKind(kind)
		converted, err := admission.ConvertToGVK(read, want, interfaces)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if got := converted.GetObjectKind().GroupVersionKind(); got != want || converted.(metav1.Object).GetName() != "a" {
			t.Errorf("%s is converted to %v", kind, converted)
		}
		if err := interfaces.GetObjectConvertor().Convert(converted, read, nil); err != nil {
			t.Errorf("%s, back: %v", kind, err)
		}
	}
}
