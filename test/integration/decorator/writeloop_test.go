// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// writtenAt returns the times of the server's successful writes to an object.
func (f *fixture) writtenAt(resource, group, name string) []time.Time {
	f.Helper()
	events := env.AuditEvents(f, 0, hostcluster.Request{
		Verbs: []string{"update", "patch"}, Group: group, Resource: resource, Namespace: f.Namespace, Name: name,
	})
	var times []time.Time
	for _, event := range events {
		if event.ResponseStatus.Code < 300 {
			times = append(times, event.RequestReceivedTimestamp.Time)
		}
	}
	return times
}

// The generation of a Deployment rises with its annotations. That does not hide the write loop.
func TestARestlessDecoratorOfADeploymentIsSlowedDown(t *testing.T) {
	t.Parallel()
	f := prepare(t, harness.CRD{Kind: "Thing"}, answers(t, func(asked request) object {
		return object{"annotations": object{"time": fmt.Sprint(time.Now().UnixNano())}, "finalized": asked.Finalizing}
	}))
	f.RunDecorator(f.DecoratorSpec(f.ofBuiltIn(deployments)))
	f.deployment("a")
	env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "the hook returns a different value at metadata.annotations[time]")
	f.Parents = deployments
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
}

// If the hook and another client set a label to different values, the writes are slowed down.
// Nothing else waits for them.
func TestALabelThatIsFoughtOverIsWrittenEverLater(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
		return object{
			"labels":      object{"fought": "ours"},
			"attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{"value": value})},
			"status":      object{"value": value},
			"finalized":   asked.Finalizing,
		}
	}), func(spec *v1alpha1.DecoratorControllerSpec) { spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy() })
	f.CreateParent("a", object{"value": "1"})
	const undone = 7
	count := 0
	env.Eventually(t, func(ctx context.Context) error {
		target, err := f.GetParent(ctx, "a")
		if err != nil {
			return err
		}
		if target.GetLabels()["fought"] == "ours" && count < undone {
			f.PatchParent("a", object{"metadata": object{"labels": object{"fought": "theirs"}}})
			count++
		}
		if count < undone {
			return fmt.Errorf("the label was changed back %d times, want %d", count, undone)
		}
		return nil
	})
	f.PatchParent("a", object{"spec": object{"value": "2"}}) // while the label is held back
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.WaitForParent("a", func(target *unstructured.Unstructured) error {
		if value, _, _ := unstructured.NestedString(target.Object, "status", "value"); value != "2" {
			return fmt.Errorf("the status says %q", value)
		}
		return nil
	})
	event := env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "metadata.labels[fought]")
	if !strings.Contains(event.Message, "another writer changes it") {
		t.Errorf("the event says %q", event.Message)
	}
	f.WaitForWriteLoop("metadata.labels[fought]: another writer changes it")
	f.DeleteParent("a") // which takes the finalizer off together with the label
	env.Within(t, 30*time.Second, func(ctx context.Context) error {
		_, err := f.GetParent(ctx, "a")
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the target should be gone: %v", err)
		}
		return nil
	})
}

// If a composite and a decorator of its children set a field to different values, both are slowed
// down. The events of each name the other.
func TestACompositeAndADecoratorThatFightAreCalmed(t *testing.T) {
	t.Parallel()
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, engine, v1alpha1.ChildUpdateInPlace)
			f.whole("a", object{"value": "1", "labels": object{"decorated": "otherwise"}})
			env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "metadata.labels.decorated: DecoratorController "+f.Controller.Name+", which also writes it")
			env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "metadata.labels[decorated]: CompositeController "+f.composite+", which also writes it")
			f.WaitForWriteLoop("Part "+f.Namespace+"/a", "CompositeController "+f.composite)
			env.WaitForWriteLoop(t, harness.Composite(f.composite), "Part "+f.Namespace+"/a", "DecoratorController "+f.Controller.Name)
			if writes := f.writtenAt(f.Parents.Resource, f.Parents.Group, "a"); len(writes) > 30 {
				t.Errorf("the child was written %d times", len(writes))
			}
		})
	}
}

// A composite and a decorator that answer different statuses overwrite each other's, and are slowed
// down.
func TestTwoWhoAnswerTheStatusOfOneObjectAreCalmed(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object { return object{"status": object{"by": "decorator"}} }))
	composite, _ := f.startComposite(f.Parents, func(parentRequest) object { return object{"status": object{"by": "composite"}} })
	f.CreateParent("a", object{})
	f.WaitForWriteLoop("the status of Thing "+f.Namespace+"/a", "CompositeController "+composite)
	env.WaitForWriteLoop(t, harness.Composite(composite), "the status of Thing "+f.Namespace+"/a", "DecoratorController "+f.Controller.Name)
}

// A finalizer that another client removes repeatedly is added again with growing delays.
func TestAFinalizerThatIsTakenOffIsPutOnEverLater(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object { return object{"finalized": asked.Finalizing} }),
		func(spec *v1alpha1.DecoratorControllerSpec) { spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy() })
	f.CreateParent("a", object{})
	const undone = 7
	count := 0
	env.Eventually(t, func(ctx context.Context) error {
		target, err := f.GetParent(ctx, "a")
		if err != nil {
			return err
		}
		if len(target.GetFinalizers()) > 0 && count < undone {
			f.PatchParent("a", object{"metadata": object{"finalizers": nil}})
			count++
		}
		if count < undone {
			return fmt.Errorf("the finalizer was taken off %d times, want %d", count, undone)
		}
		return nil
	})
	writes := f.writtenAt(f.Parents.Resource, f.Parents.Group, "a")
	if len(writes) > undone+1 {
		t.Errorf("the target was written %d times, for %d changes", len(writes), undone)
	}
	for i, want := 5, time.Second; i < len(writes); i, want = i+1, 2*want {
		const imprecision = 100 * time.Millisecond
		if pause := writes[i].Sub(writes[i-1]); pause < want-imprecision {
			t.Errorf("write %d came %s after the one before, want at least %s", i+1, pause, want)
		}
	}
	env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "metadata.finalizers: another writer changes it")
	f.WaitForWriteLoop("Thing "+f.Namespace+"/a", "metadata.finalizers")
	f.WaitForParent("a", func(target *unstructured.Unstructured) error {
		if len(target.GetFinalizers()) != 1 {
			return fmt.Errorf("it should be held: %v", target.GetFinalizers())
		}
		return nil
	})
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
}
