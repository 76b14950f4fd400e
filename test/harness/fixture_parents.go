// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// OtherFinalizer is the finalizer of another client. An object with it is not deleted.
const OtherFinalizer = "example.com/keep"

// ParentClient is the client of the fixture's parents.
func (f *Fixture) ParentClient() dynamic.ResourceInterface {
	return f.Env.Dynamic.Resource(f.Parents).Namespace(f.Namespace)
}

// CreateParent creates a parent of the kind Thing with a spec.
func (f *Fixture) CreateParent(name string, spec Object) *unstructured.Unstructured {
	f.Helper()
	return f.CreateParentWith(name, nil, spec)
}

// CreateParentWith creates a parent with metadata beside its name.
func (f *Fixture) CreateParentWith(name string, metadata, spec Object) *unstructured.Unstructured {
	f.Helper()
	all := Object{"name": name}
	maps.Copy(all, metadata)
	created, err := f.ParentClient().Create(f.Context(), &unstructured.Unstructured{Object: Object{
		"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing", "metadata": all, "spec": spec,
	}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create parent %s: %v", name, err)
	}
	return created
}

// GetParent reads a parent.
func (f *Fixture) GetParent(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return f.ParentClient().Get(ctx, name, metav1.GetOptions{})
}

// PatchParent applies a JSON merge patch to a parent.
func (f *Fixture) PatchParent(name string, patch Object, subresources ...string) *unstructured.Unstructured {
	f.Helper()
	patched, err := f.ParentClient().Patch(f.Context(), name, types.MergePatchType, []byte(JSON(f, patch)), metav1.PatchOptions{}, subresources...)
	if err != nil {
		f.Fatalf("patch parent %s: %v", name, err)
	}
	return patched
}

// DeleteParent deletes a parent, which may stay until its finalizers are gone. The policy, at most
// one, says what becomes of its children.
func (f *Fixture) DeleteParent(name string, policy ...metav1.DeletionPropagation) {
	f.Helper()
	var options metav1.DeleteOptions
	if len(policy) > 0 {
		options.PropagationPolicy = &policy[0]
	}
	if err := f.ParentClient().Delete(f.Context(), name, options); err != nil {
		f.Fatalf("delete parent %s: %v", name, err)
	}
}

// WaitForParent waits until check accepts a parent, and returns it.
func (f *Fixture) WaitForParent(name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	f.Helper()
	var found *unstructured.Unstructured
	f.Env.Eventually(f, func(ctx context.Context) (err error) {
		if found, err = f.GetParent(ctx, name); err != nil {
			return err
		}
		return check(found)
	})
	return found
}

// WaitUntilParentIsGone waits until there is no parent of that name.
func (f *Fixture) WaitUntilParentIsGone(name string) {
	f.Helper()
	f.Env.Eventually(f, f.ParentIsGone(name))
}

// ParentIsGone returns a check that there is no parent of that name.
func (f *Fixture) ParentIsGone(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		parent, err := f.GetParent(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("parent %s should be gone, but is %v", name, parent)
	}
}

// Finalizer returns the finalizer that the fixture's controller puts on its parents.
func (f *Fixture) Finalizer() string {
	return "metacontroller.io/" + strings.TrimSuffix(f.Controller.Resource, "s") + "-" + f.Controller.Name
}

// WaitForFinalizers waits until a parent has exactly these finalizers.
func (f *Fixture) WaitForFinalizers(name string, want ...string) {
	f.Helper()
	f.WaitForParent(name, func(parent *unstructured.Unstructured) error {
		if got := parent.GetFinalizers(); !slices.Equal(got, want) {
			return fmt.Errorf("the finalizers should be %v, but are %v", want, got)
		}
		return nil
	})
}

// CountParentsWithFinalizer counts the parents with the finalizer of the fixture's controller.
func (f *Fixture) CountParentsWithFinalizer(ctx context.Context) (count int, err error) {
	list, err := f.Env.Dynamic.Resource(f.Parents).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, parent := range list.Items {
		if slices.Contains(parent.GetFinalizers(), f.Finalizer()) {
			count++
		}
	}
	return count, nil
}

// WaitForParentsWithFinalizer waits until exactly so many parents have the finalizer of the
// fixture's controller.
func (f *Fixture) WaitForParentsWithFinalizer(want int) {
	f.Helper()
	f.Env.Eventually(f, func(ctx context.Context) error {
		count, err := f.CountParentsWithFinalizer(ctx)
		if err == nil && count != want {
			err = fmt.Errorf("%d parents have the finalizer, want %d", count, want)
		}
		return err
	})
}
