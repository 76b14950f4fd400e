// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Eighty clients write to a target while it is decorated. No write of theirs is lost, and
// neither are the labels, annotations, status and finalizer of the decorator.
func TestNoUpdateOfATargetIsLost(t *testing.T) {
	t.Parallel()
	for name, crd := range map[string]harness.CRD{
		"a type with a status subresource": {Kind: "Thing"},
		"a type without one":               {Kind: "Thing", NoStatus: true},
	} {
		t.Run(name, func(t *testing.T) { testNoUpdateIsLost(t, crd) })
	}
}

func testNoUpdateIsLost(t *testing.T, crd harness.CRD) {
	t.Parallel()
	const writers = 80
	// The answer changes with each change of the spec, so that the target is written often.
	f := prepare(t, crd, answers(t, func(asked request) object {
		spec, _, _ := unstructured.NestedMap(asked.Object.Object, "spec")
		fields := fmt.Sprint(len(spec))
		return object{
			"labels":      object{"fields": fields},
			"annotations": object{"fields": fields},
			"status":      object{"fields": fields},
			"attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{"fields": fields})},
			"finalized":   true,
		}
	}))
	f.RunDecorator(f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) { spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy() }))
	f.CreateParent("a", object{"first": "x"})
	// More writers at once would only overload the host: all but one fail with a conflict.
	places := make(chan struct{}, 8)
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() {
			err := retry.OnError(busy, isRetriable, func() error {
				places <- struct{}{}
				defer func() { <-places }()
				return f.write(t.Context(), "a", i)
			})
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	running.Wait()
	f.WaitForParent("a", func(target *unstructured.Unstructured) error {
		fields := fmt.Sprint(1 + writers/2)
		status, _, _ := unstructured.NestedString(target.Object, "status", "fields")
		if label, annotation := target.GetLabels()["fields"], target.GetAnnotations()["fields"]; label != fields || annotation != fields || status != fields || len(target.GetFinalizers()) != 1 {
			return fmt.Errorf("what the decorator sets should be %s: label %s, annotation %s, status %s, finalizers %v", fields, label, annotation, status, target.GetFinalizers())
		}
		for i := range writers {
			if !hasWritten(target, i) {
				return fmt.Errorf("what writer %d has set is lost", i)
			}
		}
		return nil
	})
	f.WaitForConfigMap("a", harness.HasData("fields", fmt.Sprint(1+writers/2)))
	f.expectNoOp("a", f.Hook)
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
}

// busy is the backoff of clients after a conflict. They retry until they succeed.
var busy = wait.Backoff{Steps: 10000, Duration: 20 * time.Millisecond, Factor: 1, Jitter: 5}

func isRetriable(err error) bool { return apierrors.IsConflict(err) || apierrors.IsTimeout(err) }

// write sets the field of one writer: a field of the spec, an annotation or a label, by an update
// or by a patch.
func (f *fixture) write(ctx context.Context, name string, i int) error {
	path := pathOf(i)
	targets := f.ParentClient()
	if i%8 < 4 {
		body := object{}
		if err := unstructured.SetNestedField(body, "x", path...); err != nil {
			return err
		}
		_, err := targets.Patch(ctx, name, types.MergePatchType, []byte(harness.JSON(f, body)), metav1.PatchOptions{})
		return err
	}
	target, err := targets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		err = unstructured.SetNestedField(target.Object, "x", path...)
	}
	if err == nil {
		_, err = targets.Update(ctx, target, metav1.UpdateOptions{})
	}
	return err
}

func pathOf(i int) []string {
	own := fmt.Sprintf("w%d", i)
	switch i % 4 {
	case 0:
		return []string{"metadata", "annotations", own}
	case 1:
		return []string{"metadata", "labels", own}
	default:
		return []string{"spec", own}
	}
}

func hasWritten(target *unstructured.Unstructured, i int) bool {
	value, _, _ := unstructured.NestedString(target.Object, pathOf(i)...)
	return value == "x"
}

// startInterrupted runs a decorator. During the first call about target a, that is between
// observing and writing it, happens is called.
func startInterrupted(t *testing.T, happens func(*fixture, request)) *fixture {
	t.Helper()
	var f *fixture
	var once sync.Once
	f = prepare(t, harness.CRD{Kind: "Thing"}, answers(t, func(asked request) object {
		if asked.Object.GetName() == "a" {
			once.Do(func() { happens(f, asked) })
		}
		uid := string(asked.Object.GetUID())
		return object{
			"labels":      object{"uid": uid},
			"status":      object{"uid": uid},
			"attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{"uid": uid})},
		}
	}))
	f.RunDecorator(f.DecoratorSpec())
	return f
}

// waitForOwnUID waits until a target and its attachment have the target's UID in them.
func (f *fixture) waitForOwnUID(name string) *unstructured.Unstructured {
	f.Helper()
	target := f.WaitForParent(name, func(target *unstructured.Unstructured) error {
		uid := string(target.GetUID())
		status, _, _ := unstructured.NestedString(target.Object, "status", "uid")
		if target.GetLabels()["uid"] != uid || status != uid {
			return fmt.Errorf("the target of UID %s has the label %s and the status %s", uid, target.GetLabels()["uid"], status)
		}
		return nil
	})
	attachment := f.WaitForConfigMap(name, harness.HasData("uid", string(target.GetUID())))
	if owner := metav1.GetControllerOf(attachment); owner == nil || owner.UID != target.GetUID() {
		f.Errorf("the attachment is owned by %v", owner)
	}
	return target
}

func TestWhatHappensToATargetWhileItsHookIsAsked(t *testing.T) {
	t.Parallel()
	remove := func(f *fixture) {
		err := f.ParentClient().Delete(f.Context(), "a", metav1.DeleteOptions{})
		if err != nil {
			f.Errorf("delete: %v", err)
		}
	}
	t.Run("it vanishes", func(t *testing.T) {
		t.Parallel()
		f := startInterrupted(t, func(f *fixture, _ request) { remove(f) })
		f.CreateParent("a", object{})
		f.WaitUntilParentIsGone("a")
		f.CreateParent("b", object{})
		f.waitForOwnUID("b")
		f.WaitUntilConfigMapIsGone("a")
		f.CreateParent("a", object{})
		f.waitForOwnUID("a")
		f.ExpectNoSyncError("a")
	})
	t.Run("it is replaced", func(t *testing.T) {
		t.Parallel()
		f := startInterrupted(t, func(f *fixture, _ request) {
			remove(f)
			f.CreateParentWith("a", object{"labels": object{"new": "one"}}, object{})
		})
		f.CreateParent("a", object{})
		if target := f.waitForOwnUID("a"); target.GetLabels()["new"] == "" {
			t.Errorf("the labels are %v", target.GetLabels())
		}
		f.ExpectNoSyncError("a")
	})
	t.Run("it is edited", func(t *testing.T) {
		t.Parallel()
		f := startInterrupted(t, func(f *fixture, _ request) {
			f.PatchParent("a", object{"metadata": object{"labels": object{"edited": "x"}}, "spec": object{"edited": "x"}})
		})
		f.CreateParent("a", object{})
		target := f.waitForOwnUID("a")
		if edited, _, _ := unstructured.NestedString(target.Object, "spec", "edited"); edited != "x" || target.GetLabels()["edited"] != "x" {
			t.Errorf("the edit is lost: %v", target.Object)
		}
		f.ExpectNoSyncError("a")
	})
}
