// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
)

// Hooks read the controller as the original sends it: with its kind, an empty
// status, and an object for statusChecks that are not set.
func TestTheControllerAsHooksAreSentIt(t *testing.T) {
	object := controller(t, `{`+parentWebs+`, `+syncHook+`, generateSelector: true,
		childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: namespaces}]}`)
	object.UID, object.Generation, object.ResourceVersion = "u", 3, "7"
	object.Labels = map[string]string{"a": "b"}
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	object.Status = v1alpha1.ControllerStatus{ObservedGeneration: 3, Parents: &v1alpha1.ParentCounts{Total: 5}}
	before := object.DeepCopy()

	var c Controller
	if err := c.SetObject(object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
	const want = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1",
		"metadata":{"name":"webs","uid":"u","resourceVersion":"7","generation":3,"labels":{"a":"b"}},
		"spec":{"parentResource":{"apiVersion":"ctl.example/v1","resource":"webs"},"generateSelector":true,
			"childResources":[{"apiVersion":"v1","resource":"pods","updateStrategy":{"method":"InPlace","statusChecks":{}}},{"apiVersion":"v1","resource":"namespaces"}],
			"hooks":{"sync":{"webhook":{"url":"http://hooks.example"}}}},
		"status":{}}`
	if diff := cmp.Diff(decoded(t, []byte(want)), decoded(t, *c.object.Load())); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestHooksAreSentTheControllerAsItIsNow(t *testing.T) {
	var c Controller
	object := controller(t, `{`+parentWebs+`}`)
	for _, label := range []string{"one", "two"} {
		object.Labels = map[string]string{"a": label}
		if err := c.SetObject(object); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(*c.object.Load()), label) {
			t.Errorf("sent is %s", *c.object.Load())
		}
	}
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return content
}

func TestAControllerWhoseHookCannotBeCalledIsNotMade(t *testing.T) {
	spec, err := resolve(t, `{`+parentWebs+`, hooks: {sync: {webhook: {path: /sync}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	_, err = New(Dependencies{}, controller(t, `{}`), spec)
	const want = "sync hook: invalid webhook config: must specify either a full 'url', or both 'service' and 'path'"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	goleak.VerifyNone(t, before)
}

// made is a controller on a host that serves no watch.
func made(t *testing.T) *Controller {
	t.Helper()
	spec, err := resolve(t, `{`+parentWebs+`, `+syncHook+`, resyncPeriodSeconds: 1, childResources: [{apiVersion: v1, resource: pods}]}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	c, err := New(Dependencies{Watches: host.NewWatches(ctx, client(t)), Workers: 2, Metrics: prometheus.NewRegistry()}, controller(t, `{}`), spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAControllerThatIsClosedLeavesNothingBehind(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Run("controller", func(t *testing.T) { made(t).Close() })
		goleak.VerifyNone(t, before)
	})
	t.Run("run on a host that never answers its watches", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Run("controller", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan struct{})
			c := made(t)
			go func() {
				defer close(returned)
				c.Run(ctx)
			}()
			cancel()
			<-returned
		})
		goleak.VerifyNone(t, before)
	})
}

func TestAnAnswerOfAnyKindShowsThatTheHookIsReachable(t *testing.T) {
	refused := errors.New("connection refused")
	tests := map[string]struct {
		err  error
		want error
	}{
		"an answer":                     {nil, nil},
		"an answer that cannot be read": {fmt.Errorf("sync hook failed: %w: it is empty", hook.ErrUnreadable), nil},
		"a request to be called later":  {fmt.Errorf("sync hook failed: %w", &hook.Throttled{After: time.Second}), nil},
		"no answer":                     {refused, refused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var c calls
			c.record(errors.New("an earlier failure"))
			c.record(test.err)
			if !c.made || !errors.Is(c.err, test.want) {
				t.Errorf("called %v, error %v, want %v", c.made, c.err, test.want)
			}
		})
	}
}

func TestACallThatWasNotMadeShowsNothing(t *testing.T) {
	var c calls
	refused := errors.New("connection refused")
	notMade := fmt.Errorf("sync hook failed: %w", &hook.Down{After: time.Second})
	c.record(notMade)
	if c.made {
		t.Error("the hook counts as called")
	}
	c.record(refused)
	c.record(notMade)
	if !errors.Is(c.err, refused) {
		t.Errorf("the error is %v, want that of the last call", c.err)
	}
}

func TestAnErrorIsToldAgainOnlyAfterAWhile(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var told told
	for _, step := range []struct {
		what  string
		err   string
		after time.Duration
		want  bool
	}{
		{"the first error", "a", 0, true},
		{"the same at once", "a", time.Second, false},
		{"the same shortly before it is due", "a", tellAgainAfter - time.Second, false},
		{"the same when it is due", "a", tellAgainAfter, true},
		{"the same after that", "a", tellAgainAfter + time.Second, false},
		{"another", "b", tellAgainAfter + 2*time.Second, true},
		{"the first once more", "a", tellAgainAfter + 3*time.Second, true},
	} {
		if got := told.news(step.err, start.Add(step.after)); got != step.want {
			t.Errorf("%s is news: %v, want %v", step.what, got, step.want)
		}
	}
}

func TestParents(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "default", Name: "a"}, types.NamespacedName{Namespace: "default", Name: "b"}
	p := newParents()
	first := p.get(a)
	if p.get(a) != first || p.get(b) == first {
		t.Error("each parent has one memory of its own")
	}
	p.record(a, nil)
	p.record(b, errors.New("no"))
	if !p.synced[a] || p.synced[b] || p.lastError == nil || p.lastError.Parent != b || p.lastError.Err.Error() != "no" || p.lastError.Time.IsZero() {
		t.Errorf("synced %v, last error %v", p.synced, p.lastError)
	}
	for _, putOff := range []error{&hook.Throttled{}, &hook.Down{}} {
		p.record(a, fmt.Errorf("sync hook failed: %w", putOff))
		if !p.synced[a] || p.lastError.Parent != b {
			t.Errorf("a sync that was put off (%v) is neither a failure nor a success", putOff)
		}
	}
	p.record(b, nil)
	if !p.synced[b] || p.lastError == nil {
		t.Error("the last error stays when its parent has recovered")
	}
	p.forget(a)
	if _, known := p.synced[a]; known || p.get(a) == first {
		t.Error("a parent that is gone is still known")
	}
}

func TestHealth(t *testing.T) {
	c := made(t)
	defer c.Close()
	if got := c.Health(); !reflect.DeepEqual(got, report.Health{}) {
		t.Errorf("before the first sync it is %+v", got)
	}
	failed := errors.New("no")
	for name, err := range map[string]error{"a": nil, "b": nil, "c": failed} {
		c.parents.record(types.NamespacedName{Name: name}, err)
	}
	c.calls.record(failed)
	got := c.Health()
	if got.Synced != 2 || got.Failing != 1 || !got.HookCalled || !errors.Is(got.HookErr, failed) || got.LastError == nil || got.LastError.Parent.Name != "c" {
		t.Errorf("it is %+v", got)
	}
}
