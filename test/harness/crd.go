// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

// Install returns a type that the host serves and lists in its discovery document. Unless crd has a group, no other test
// has it.
func (e *Env) Install(t testing.TB, crd CRD) schema.GroupVersionResource {
	t.Helper()
	if crd.Group == "" && crd.Version == "" && crd.Schema == nil {
		return e.spares.of(crd).take(t, e, crd)
	}
	return e.install(t, crd, 1)[0]
}

func (e *Env) install(t testing.TB, crd CRD, count int) []schema.GroupVersionResource {
	t.Helper()
	installed := make([]schema.GroupVersionResource, count)
	for i := range installed {
		installed[i] = e.create(t, crd)
	}
	e.WaitUntilServed(t, installed...)
	return installed
}

// spareTypes are types with groups of their own that no test has used. kube-apiserver serves a type a second after the
// first request, and waits for another two before it creates the first object, so several types are installed at once.
type spareTypes struct {
	mu      sync.Mutex
	batches map[shape]*batch
}

// shape has the fields of a CRD in which spare types differ. Install keeps a CRD with any other field out of them.
type shape struct {
	kind                    string
	clusterScoped, noStatus bool
}

// batch has the spare types of one shape.
type batch struct {
	mu     sync.Mutex
	unused []schema.GroupVersionResource
	// next is how many are installed the next time: twice as many as before, up to largestBatch.
	next int
}

const largestBatch = 32

func (s *spareTypes) of(crd CRD) *batch {
	wanted := shape{crd.Kind, crd.ClusterScoped, crd.NoStatus}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches == nil {
		s.batches = map[shape]*batch{}
	}
	if s.batches[wanted] == nil {
		s.batches[wanted] = &batch{next: 1}
	}
	return s.batches[wanted]
}

func (b *batch) take(t testing.TB, e *Env, crd CRD) schema.GroupVersionResource {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unused) == 0 {
		b.unused = e.install(t, crd, b.next)
		b.next = min(2*b.next, largestBatch)
	}
	taken := b.unused[0]
	b.unused = b.unused[1:]
	return taken
}

// create creates the CustomResourceDefinition.
func (e *Env) create(t testing.TB, crd CRD) schema.GroupVersionResource {
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
	return resource
}

// WaitUntilServed waits until the host serves resources and lists them in its discovery document. It asks for all of them
// at once, because kube-apiserver takes a second for the first request about each type.
func (e *Env) WaitUntilServed(t testing.TB, resources ...schema.GroupVersionResource) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		var asking errgroup.Group
		for _, resource := range resources {
			asking.Go(func() error { return e.serves(ctx, resource) })
		}
		return asking.Wait()
	})
}

// serves returns an error while the host does not serve a resource or does not list it in its discovery document.
func (e *Env) serves(ctx context.Context, resource schema.GroupVersionResource) error {
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
}
