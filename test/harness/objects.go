// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Namespace creates a namespace that only this test uses and returns its name. It goes with the
// cluster.
func (e *Env) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	created, err := e.Kube.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return created.Name
}

// Name returns a unique name, for cluster-scoped objects of a test.
func Name(prefix string) string { return prefix + "-" + rand.String(8) }

// CRD describes a custom resource that a test needs. Objects may have any fields unless there is a
// schema.
type CRD struct {
	Kind          string // the plural resource is its lower-case form with an s
	Group         string // "" is one of its own
	Version       string // "" is v1
	ClusterScoped bool
	NoStatus      bool // without the status subresource
	// Schema holds the properties of an object beside apiVersion, kind and metadata.
	Schema map[string]any
}

// Install creates the CustomResourceDefinition. It returns the resource once the host
// serves it and lists it in its discovery document.
func (e *Env) Install(t testing.TB, crd CRD) schema.GroupVersionResource {
	t.Helper()
	resource := schema.GroupVersionResource{
		Group:    cmp.Or(crd.Group, Name("test")+".example.com"),
		Version:  cmp.Or(crd.Version, "v1"),
		Resource: strings.ToLower(crd.Kind) + "s",
	}
	scope := "Namespaced"
	if crd.ClusterScoped {
		scope = "Cluster"
	}
	fields := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if crd.Schema != nil {
		fields = map[string]any{"type": "object", "properties": crd.Schema}
	}
	version := map[string]any{
		"name":    resource.Version,
		"served":  true,
		"storage": true,
		"schema":  map[string]any{"openAPIV3Schema": fields},
	}
	if !crd.NoStatus {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": resource.GroupResource().String()},
		"spec": map[string]any{
			"group":    resource.Group,
			"scope":    scope,
			"names":    map[string]any{"plural": resource.Resource, "singular": strings.ToLower(crd.Kind), "kind": crd.Kind},
			"versions": []any{version},
		},
	}}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := e.Dynamic.Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create the CustomResourceDefinition of %s: %v", crd.Kind, err)
	}
	e.WaitUntilServed(t, resource)
	return resource
}

// WaitUntilServed waits until the host serves a resource and lists it in its discovery document.
func (e *Env) WaitUntilServed(t testing.TB, resource schema.GroupVersionResource) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		if _, err := e.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		// The discovery document follows later.
		told, err := e.Kube.Discovery().ServerResourcesForGroupVersion(resource.GroupVersion().String())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(told.APIResources, func(served metav1.APIResource) bool { return served.Name == resource.Resource }) {
			return fmt.Errorf("the cluster does not tell that it serves %s", resource)
		}
		return nil
	})
}
