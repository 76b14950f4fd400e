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
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

func (f *fixture) waitUntilCalled(times int) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		if calls := len(f.hook.Calls()); calls < times {
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
			f.target("a", nil, object{})
			f.waitUntilCalled(4)
		})
	}
}

// Targets whose hook answers the same again cost the host nothing, neither a write nor a
// read.
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
		f.target(name(i), nil, object{"value": "1"})
	}
	for i := range targets {
		f.waitForLabel(name(i), "marked", "yes")
		env.WaitForConfigMap(t, f.namespace, name(i), hasData("value", "1"))
		f.quiesce(name(i))
	}
	from := env.Now(t)
	for i := range targets {
		f.quiesce(name(i))
	}
	if requests := env.Requests(t, from, hostcluster.Request{Namespace: f.namespace}); len(requests) > 0 {
		t.Errorf("quiet syncs made the requests %v", requests)
	}
}

// A hook that answers 304 to those who know its answer is taken to answer the same again.
func TestETag(t *testing.T) {
	t.Parallel()
	var repeated atomic.Int32
	f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
		if call.Header.Get("If-None-Match") == `"1"` {
			repeated.Add(1)
			return hook.Text(http.StatusNotModified, "")
		}
		answer := hook.JSON(object{"labels": object{"marked": "yes"}, "attachments": []object{configMap("a", object{})}})
		answer.Header.Set("ETag", `"1"`)
		return answer
	}, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Hooks.Sync.Webhook.Etag = &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}
	})
	f.target("a", nil, object{})
	first := f.waitForAttachment("a")
	f.waitForLabel("a", "marked", "yes")
	f.patch("a", object{"metadata": object{"labels": object{"marked": nil}}})
	f.waitForLabel("a", "marked", "yes")
	if err := env.Kube.CoreV1().ConfigMaps(f.namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.WaitForConfigMap(t, f.namespace, "a", func(again *corev1.ConfigMap) error {
		if again.UID == first.UID {
			return fmt.Errorf("it is still the first one")
		}
		return nil
	})
	if repeated.Load() < 2 {
		t.Errorf("the hook could answer 304 %d times, want twice at least", repeated.Load())
	}
}

// A hook that asks for later is called later, which is no error.
func TestQ8AHookThatAsksForLaterIsLeftAlone(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]change{syncPath: func(*v1alpha1.DecoratorControllerSpec) {}, customizePath: withCustomize} {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			t.Parallel()
			const times = 6 // 5 ms, doubled each time
			var refused atomic.Int32
			good := byPath(t, map[string]func(request) object{syncPath: marks, customizePath: relating})
			f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
				if call.Path == path && refused.Add(1) <= times {
					return hook.Text(http.StatusTooManyRequests, "")
				}
				return good(ctx, call)
			}, change)
			f.target("a", nil, object{})
			f.waitForLabel("a", "marked", "yes")
			calls := f.hook.Calls()
			if took := calls[times].At.Sub(calls[0].At); took < 150*time.Millisecond {
				t.Errorf("%d calls took %s", times+1, took)
			}
			f.expectNoSyncError("a")
		})
	}
}

// expectNoSyncError checks that no failed sync of a target has an event, nor is to get one.
func (f *fixture) expectNoSyncError(about string) {
	f.Helper()
	const later = "unsupported status code: 418"
	f.hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(http.StatusTeapot, "") })
	f.target("later", nil, object{})
	env.WaitForEvent(f, f.namespace, "later", "SyncError", later)
	env.ExpectNoSyncErrorBut(f, f.namespace, about, later)
}

// A hook that goes away is hardly called, and when it is back all targets are synced.
func TestTargetsConvergeAfterAHookWasAway(t *testing.T) {
	t.Parallel()
	here := answers(t, oneConfigMap)
	f := start(t, here)
	const targets = 30
	name := func(i int) string { return fmt.Sprintf("t%d", i) }
	for i := range targets {
		f.target(name(i), nil, object{"value": "1"})
	}
	waitForValue := func(value string) {
		t.Helper()
		for i := range targets {
			env.WaitForConfigMap(t, f.namespace, name(i), hasData("value", value))
		}
	}
	waitForValue("1")
	f.hook.Handle(func(context.Context, hook.Call) hook.Answer { panic(http.ErrAbortHandler) })
	away, before := time.Now(), len(f.hook.Calls())
	for i := range targets {
		f.patch(name(i), object{"spec": object{"value": "2"}})
	}
	env.WaitForController(t, f.itself(), hasCondition("HooksReachable", metav1.ConditionFalse))
	// Once each, some until it is noticed, and some probes.
	if calls, most := len(f.hook.Calls())-before, targets+20+int(time.Since(away).Seconds()); calls > most {
		t.Errorf("the hook was called %d times in %s while it was away, want at most %d", calls, time.Since(away), most)
	}
	f.hook.Handle(here)
	waitForValue("2")
	env.WaitForController(t, f.itself(), hasCondition("HooksReachable", metav1.ConditionTrue))
}

func hasCondition(kind string, status metav1.ConditionStatus) func(metav1.ObjectMeta, v1alpha1.ControllerStatus) error {
	return func(_ metav1.ObjectMeta, have v1alpha1.ControllerStatus) error {
		for _, condition := range have.Conditions {
			if condition.Type == kind && condition.Status == status {
				return nil
			}
		}
		return fmt.Errorf("%s should be %s, but the conditions are %v", kind, status, have.Conditions)
	}
}
