// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// writesOf returns the times of the server's writes to a ConfigMap with one of the verbs.
func (f *fixture) writesOf(name string, verbs ...string) []time.Time {
	f.Helper()
	events := env.AuditEvents(f, 0, hostcluster.Request{
		Verbs: verbs, Resource: "configmaps", Namespace: f.Namespace, Name: name,
	})
	var times []time.Time
	for _, event := range events {
		if event.ResponseStatus.Code < 300 {
			times = append(times, event.RequestReceivedTimestamp.Time)
		}
	}
	return times
}

// imprecision is the error of times in the audit log.
const imprecision = 100 * time.Millisecond

// expectSlower checks the pauses from the first delayed write on, which double. Earlier pauses may
// have any length.
func (f *fixture) expectSlower(what string, writes []time.Time, free int) {
	f.Helper()
	want := time.Second
	for i := free; i < len(writes); i++ {
		if pause := writes[i].Sub(writes[i-1]); pause < want-imprecision {
			f.Errorf("%s: write %d came %s after the one before, want at least %s", what, i+1, pause, want)
		}
		want *= 2
	}
}

// If the hook and another client set a field to different values, the writes are slowed down.
// Nothing else waits for them.
func TestAFieldThatIsFoughtOverIsWrittenEverLater(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		spec, _ := asked.Parent.Object["spec"].(object)
		return object{"children": []object{
			hook.ConfigMap("fought", object{"value": "ours"}),
			hook.ConfigMap("other", object{"value": spec["value"]}),
		}}
	}))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("fought", harness.HasData("value", "ours"))

	const undone = 8
	count := 0
	env.Eventually(t, func(ctx context.Context) error {
		child, err := f.GetConfigMap(ctx, "fought")
		if err != nil {
			return err
		}
		if child.Data["value"] == "ours" && count < undone {
			_, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Patch(ctx, "fought", types.MergePatchType, []byte(`{"data":{"value":"theirs"}}`), metav1.PatchOptions{})
			if err != nil {
				return err
			}
			count++
			if count == undone-1 {
				f.PatchParent("a", object{"spec": object{"value": "2"}}) // while a write is held back
				f.WaitForConfigMap("other", harness.HasData("value", "2"))
			}
		}
		if count < undone {
			return fmt.Errorf("the field was changed back %d times, want %d", count, undone)
		}
		return nil
	})

	writes := f.writesOf("fought", "create", "update", "patch")
	if len(writes) > undone+1 {
		t.Errorf("the child was written %d times, for %d changes", len(writes), undone)
	}
	f.expectSlower("writes", writes, 5)
	event := env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "ConfigMap "+f.Namespace+"/fought")
	if event.Type != "Warning" || !strings.Contains(event.Message, "data.value") {
		t.Errorf("the event is a %s and says %q", event.Type, event.Message)
	}
	f.WaitForWriteLoop("ConfigMap "+f.Namespace+"/fought", "data.value")
}

// Two controllers with generated selectors that have children of the same types for the
// same parents each delete what the other creates, and overwrite its status.
func TestTwoControllersOfTheSameParentsAreCalmed(t *testing.T) {
	t.Parallel()
	of := func(name string) hook.Handler {
		return answers(t, func(request) object {
			return object{"children": []object{hook.ConfigMap(name, object{})}, "status": object{"by": name}}
		})
	}
	f := start(t, of("one"))
	other := hook.Serve(t, of("two"))
	second := f.CreateComposite(harness.Name("test"), f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync.Webhook.URL = ptr.To(other.URL("/")) }))
	f.CreateParent("a", object{})

	// It may be that only the children of one controller are deleted repeatedly.
	const creations = 8
	var often []string
	env.Eventually(t, func(context.Context) error {
		counts := map[string]int{}
		for _, name := range []string{"one", "two"} {
			if counts[name] = len(f.writesOf(name, "create")); counts[name] >= creations {
				often = append(often, name)
			}
		}
		if len(often) == 0 {
			return fmt.Errorf("the children were created %v times, want %d of one of them", counts, creations)
		}
		return nil
	})
	for _, name := range often {
		f.expectSlower("creations of "+name, f.writesOf(name, "create"), 5)
	}
	events := env.AuditEvents(t, 0, hostcluster.Request{Verbs: hostcluster.Writes(), Namespace: f.Namespace})
	// Creations and deletions of two children, writes of the status, and some events.
	if len(events) > 100 {
		t.Errorf("there were %d writes in all", len(events))
	}
	env.Eventually(t, func(ctx context.Context) error {
		one := env.HasWriteLoop(ctx, f.Controller, "it no longer exists: CompositeController "+second.Name+" deletes it")
		two := env.HasWriteLoop(ctx, harness.Composite(second.Name), "it no longer exists: CompositeController "+f.Controller.Name+" deletes it")
		if one == nil || two == nil {
			return nil
		}
		return errors.Join(one, two)
	})
	env.WaitForEvent(t, f.Namespace, "a", "WriteLoop", "")
}
