// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

func (f *fixture) waitUntilCalled(times int) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		if calls := len(f.Hook.Calls()); calls < times {
			return fmt.Errorf("the hook was called %d times, want %d", calls, times)
		}
		return nil
	})
}

func TestResync(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		period *int32
		answer object
	}{
		"in the period of the spec":    {ptr.To[int32](1), object{}},
		"when the hook asks for it":    {nil, object{"resyncAfterSeconds": 0.1}},
		"when both ask, the sooner is": {ptr.To[int32](3600), object{"resyncAfterSeconds": 0.1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, func(request) object { return test.answer }),
				func(spec *v1alpha1.DecoratorControllerSpec) { spec.ResyncPeriodSeconds = test.period })
			f.CreateParent("a", object{})
			f.waitUntilCalled(4)
		})
	}
}

// A sync whose answer has not changed sends no requests to the host.
func TestQ30QuietSyncsLeaveTheHostAlone(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		answer := oneConfigMap(asked)
		answer["labels"] = object{"marked": "yes", "absent": nil}
		answer["annotations"] = object{"note": "any text"}
		answer["status"] = object{"seen": 1.0, "list": []any{object{"a": nil}}}
		return answer
	}), withFinalize)
	const targets = 20
	name := func(i int) string { return fmt.Sprintf("t%d", i) }
	for i := range targets {
		f.CreateParent(name(i), object{"value": "1"})
	}
	for i := range targets {
		f.waitForLabel(name(i), "marked", "yes")
		f.WaitForConfigMap(name(i), harness.HasData("value", "1"))
		f.Settle(name(i))
	}
	from := env.AuditEnd(t)
	for i := range targets {
		f.Settle(name(i))
	}
	if requests := env.Requests(t, from, hostcluster.Request{Namespace: f.Namespace}); len(requests) > 0 {
		t.Errorf("quiet syncs made the requests %v", requests)
	}
}

// An answer 304 to a request with an ETag stands for the last answer.
func TestETag(t *testing.T) {
	t.Parallel()
	var repeated atomic.Int32
	f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
		if call.Header.Get("If-None-Match") == `"1"` {
			repeated.Add(1)
			return hook.Text(http.StatusNotModified, "")
		}
		answer := hook.JSON(object{"labels": object{"marked": "yes"}, "attachments": []object{hook.ConfigMap("a", object{})}})
		answer.Header.Set("ETag", `"1"`)
		return answer
	}, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Hooks.Sync.Webhook.Etag = &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}
	})
	f.CreateParent("a", object{})
	first := f.waitForAttachment("a")
	f.waitForLabel("a", "marked", "yes")
	f.PatchParent("a", object{"metadata": object{"labels": object{"marked": nil}}})
	f.waitForLabel("a", "marked", "yes")
	f.DeleteConfigMap("a")
	f.WaitForConfigMap("a", func(again *corev1.ConfigMap) error {
		if again.UID == first.UID {
			return fmt.Errorf("it is still the first one")
		}
		return nil
	})
	if repeated.Load() < 2 {
		t.Errorf("the hook could answer 304 %d times, want twice at least", repeated.Load())
	}
}

// A hook that answers 429 is called again later. That is no error.
func TestQ8AHookThatAsksForLaterIsLeftAlone(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]change{harness.SyncPath: func(*v1alpha1.DecoratorControllerSpec) {}, harness.CustomizePath: withCustomize} {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			t.Parallel()
			const times = 6 // 5 ms, doubled each time
			var refused atomic.Int32
			good := byPath(t, map[string]func(request) object{harness.SyncPath: marks, harness.CustomizePath: relating})
			f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
				if call.Path == path && refused.Add(1) <= times {
					return hook.Text(http.StatusTooManyRequests, "")
				}
				return good(ctx, call)
			}, change)
			f.CreateParent("a", object{})
			f.waitForLabel("a", "marked", "yes")
			calls := f.Hook.Calls()
			if took := calls[times].At.Sub(calls[0].At); took < 150*time.Millisecond {
				t.Errorf("%d calls took %s", times+1, took)
			}
			f.ExpectNoSyncError("a")
		})
	}
}

// A hook that is down is rarely called. All targets are synced when it is back.
func TestTargetsConvergeAfterAHookWasAway(t *testing.T) {
	t.Parallel()
	here := answers(t, oneConfigMap)
	f := start(t, here)
	const targets = 30
	name := func(i int) string { return fmt.Sprintf("t%d", i) }
	for i := range targets {
		f.CreateParent(name(i), object{"value": "1"})
	}
	waitForValue := func(value string) {
		t.Helper()
		for i := range targets {
			f.WaitForConfigMap(name(i), harness.HasData("value", value))
		}
	}
	waitForValue("1")
	f.Hook.Handle(func(context.Context, hook.Call) hook.Answer { panic(http.ErrAbortHandler) })
	away, before := time.Now(), len(f.Hook.Calls())
	for i := range targets {
		f.PatchParent(name(i), object{"spec": object{"value": "2"}})
	}
	f.WaitForCondition("HooksReachable", metav1.ConditionFalse)
	// One call for each target, some before the outage is detected, and some probes.
	if calls, most := len(f.Hook.Calls())-before, targets+20+int(time.Since(away).Seconds()); calls > most {
		t.Errorf("the hook was called %d times in %s while it was away, want at most %d", calls, time.Since(away), most)
	}
	f.Hook.Handle(here)
	waitForValue("2")
	f.WaitForCondition("HooksReachable", metav1.ConditionTrue)
}
