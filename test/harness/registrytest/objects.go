// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// NewScheme returns a scheme as the server has it: the types of its groups and what every API server
// needs beside its own.
func NewScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}

// Decode reads the YAML of an object as the server does: with defaults.
func Decode[O runtime.Object](t testing.TB, text string) O {
	t.Helper()
	decoder := serializer.NewCodecFactory(NewScheme(t)).UniversalDecoder(v1alpha1.SchemeGroupVersion)
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	object, err := runtime.Decode(decoder, data)
	if err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	typed, ok := object.(O)
	if !ok {
		t.Fatalf("%s is a %T, not a %T", text, object, *new(O))
	}
	return typed
}
