// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestListInPages(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		var want []string
		for i := range 5 {
			name := fmt.Sprintf("object-%d", i)
			create(t, kind, kind.named(t, name))
			want = append(want, name)
		}
		var got []string
		options, pages := metav1.ListOptions{Limit: 2}, 0
		for {
			page, err := kind.client.List(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			got = append(got, namesOf(page)...)
			if pages == 1 && (page.GetRemainingItemCount() == nil || *page.GetRemainingItemCount() != 3) {
				t.Errorf("remaining items after the first page = %v, want 3", page.GetRemainingItemCount())
			}
			if options.Continue = page.GetContinue(); options.Continue == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
			t.Errorf("%d pages, want 3; names differ (-want +got):\n%s", pages, diff)
		}
	})
}

func TestListBySelectors(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		create(t, kind, kind.named(t, "a"))
		labelled := kind.named(t, "b")
		labelled.SetLabels(map[string]string{"app": "other"})
		create(t, kind, labelled)

		for _, test := range []struct {
			options metav1.ListOptions
			want    []string
		}{
			{metav1.ListOptions{}, []string{"a", "b"}},
			{metav1.ListOptions{LabelSelector: "app=other"}, []string{"b"}},
			{metav1.ListOptions{FieldSelector: "metadata.name=a"}, []string{"a"}},
			{metav1.ListOptions{FieldSelector: "metadata.name=a", LabelSelector: "app=other"}, nil},
		} {
			list, err := kind.client.List(t.Context(), test.options)
			if err != nil {
				t.Errorf("list %+v: %v", test.options, err)
				continue
			}
			if got := namesOf(list); !slices.Equal(test.want, got) {
				t.Errorf("list %+v gives %v, want %v", test.options, got, test.want)
			}
		}
		if _, err := kind.client.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.other=a"}); !apierrors.IsBadRequest(err) {
			t.Errorf("a list by a field that cannot be selected by gives %v, want BadRequest", err)
		}
	})
}

func TestDeleteCollection(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		for _, name := range []string{"a", "b"} {
			create(t, kind, kind.named(t, name))
		}
		kept := kind.named(t, "kept")
		kept.SetLabels(map[string]string{"app": "other"})
		create(t, kind, kept)

		if err := kind.client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=test"}); err != nil {
			t.Fatal(err)
		}
		list, err := kind.client.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"kept"}, namesOf(list)); diff != "" {
			t.Errorf("what is left differs (-want +got):\n%s", diff)
		}
	})
}

func TestAnObjectWithAFinalizerStaysUntilThatIsRemoved(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		object := kind.named(t, "a")
		object.SetFinalizers([]string{"example.com/a"})
		create(t, kind, object)

		if err := kind.client.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		deleting := get(t, kind, "a")
		if deleting.GetDeletionTimestamp() == nil || deleting.GetGeneration() != 2 {
			t.Errorf("deletionTimestamp = %v, generation = %d, want it set and 2", deleting.GetDeletionTimestamp(), deleting.GetGeneration())
		}
		if _, err := kind.client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := kind.client.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("reading it gives %v, want NotFound", err)
		}
	})
}

func TestDeleteHoldsToItsPreconditions(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		created := create(t, kind, kind.named(t, "a"))
		other := types.UID("another")
		if err := kind.client.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}); !apierrors.IsConflict(err) {
			t.Errorf("deleting another object of that name gives %v, want Conflict", err)
		}
		uid := created.GetUID()
		if err := kind.client.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
			t.Errorf("deleting this object: %v", err)
		}
		if err := kind.client.Delete(t.Context(), "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("deleting it again gives %v, want NotFound", err)
		}
	})
}

func namesOf(list *unstructured.UnstructuredList) []string {
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return names
}
