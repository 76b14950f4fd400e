// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

type object = harness.Object

// sharedTypes are the types of parents and children. A run finds its own by namespace and label.
type sharedTypes struct {
	things schema.GroupVersionResource // parents
	parts  schema.GroupVersionResource // children with a status
	items  schema.GroupVersionResource // children with data, like ConfigMaps
}

var (
	installOnce sync.Once
	installed   *sharedTypes
	revisions   = v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")
)

func install(t testing.TB) *sharedTypes {
	of := &sharedTypes{
		things: env.Install(t, harness.CRD{Kind: "Thing", Group: "faults.example.com"}),
		parts:  env.Install(t, harness.CRD{Kind: "Part", Group: "faults.example.com"}),
	}
	// The schemas of built-in types are long, and each process reads those of its children.
	of.items = env.Install(t, harness.CRD{Kind: "Item", Group: "faults.example.com", NoStatus: true})
	of.plant(t)
	return of
}

// What is planted in this namespace tells whether the host's garbage collector knows the types. It
// looks for new ones only every half minute.
const planted = "default"

// plant creates a Part whose owner is gone.
func (s *sharedTypes) plant(t testing.TB) {
	t.Helper()
	part := &unstructured.Unstructured{Object: object{
		"apiVersion": s.parts.GroupVersion().String(), "kind": "Part", "metadata": object{
			"name": "planted", "ownerReferences": []any{object{
				"apiVersion": s.things.GroupVersion().String(), "kind": "Thing", "name": "gone", "uid": "gone",
			}},
		},
	}}
	if _, err := env.Dynamic.Resource(s.parts).Namespace(planted).Create(t.Context(), part, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitGarbageCollector waits until the host's garbage collector knows the types.
func (s *sharedTypes) awaitGarbageCollector(t testing.TB) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		_, err := env.Dynamic.Resource(s.parts).Namespace(planted).Get(ctx, "planted", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the garbage collector does not know the types of the tests yet"), err)
	})
}
