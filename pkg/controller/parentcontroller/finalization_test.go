// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// finalizing is the snapshot of a parent that is being deleted, with children.
func finalizing(children ...*object.Object) *pipeline.Snapshot {
	snapshot := snapshotOf("a")
	snapshot.Finalizing, snapshot.Managed, snapshot.Finalizer, snapshot.ParentType = true, true, "f", webs
	snapshot.Parent.Finalizers = []string{"others", "f"}
	snapshot.Children = []pipeline.Group{{}, {Claimed: children}}
	return snapshot
}

// pod is a child; with a time it is being deleted.
func pod(name string, deleted time.Time, finalizers ...string) *object.Object {
	o := &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: finalizers},
	}
	if !deleted.IsZero() {
		at := metav1.NewTime(deleted)
		o.DeletionTimestamp = &at
	}
	return o
}

// finalizes notes an answer of the finalize hook, and reports the sync.
func (r *reporter) finalizes(snapshot *pipeline.Snapshot, answer pipeline.Response) syncqueue.Result {
	r.state.finalization = r.state.finalization.next(snapshot, &answer, time.Now())
	facts := syncFacts{}
	if r.state.finalization != nil {
		facts.unfinalized = snapshot
	}
	return r.reports(facts)
}

func TestAFinalizeHookThatDoesNotFinishIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := newReporter(t), time.Now().UTC()
		children := finalizing(pod("p", time.Time{}), pod("q", time.Time{}))
		if next := r.finalizes(children, pipeline.Response{}); next != syncqueue.Done(0).Within(finalizeThreshold) {
			t.Errorf("the next sync is %v", next)
		}
		r.expect(1, 0)
		time.Sleep(finalizeThreshold - time.Nanosecond)
		r.finalizes(children, pipeline.Response{})
		r.expect(1, 0)
		time.Sleep(time.Nanosecond)
		if next := r.finalizes(children, pipeline.Response{IsNoOp: true}); next != syncqueue.Done(0) {
			t.Errorf("the next sync is %v", next)
		}
		r.expect(0, 1)
		want := fmt.Sprintf(`the finalize hook has not finished, and this object has been waiting for it since %s: `+
			`the last answer of the hook has no field "finalized"; the cluster cannot delete this object until the hook `+
			`returns "finalized": true; children that still exist: Pod default/p, Pod default/q`, begun.Format(time.RFC3339))
		if message := r.Health().LastError.Message; message != want {
			t.Errorf("the last error is\n%s\nwant\n%s", message, want)
		}

		// One child less: it goes on.
		r.finalizes(finalizing(pod("p", time.Time{})), pipeline.Response{SaysFinalized: true})
		r.expect(1, 0)
		time.Sleep(finalizeThreshold)
		r.finalizes(finalizing(pod("p", time.Time{})), pipeline.Response{IsNoOp: true})
		r.expect(0, 1)
		if message := r.Health().LastError.Message; !strings.Contains(message, `has "finalized": false`) || !strings.Contains(message, begun.Format(time.RFC3339)) {
			t.Errorf("the last error is %s", message)
		}

		// One more child is no progress.
		r.finalizes(children, pipeline.Response{})
		r.expect(0, 1)
		r.finalizes(finalizing(), pipeline.Response{Finalized: true, SaysFinalized: true})
		r.expect(1, 0)
	})
}

func TestAChildMayEndGracefullyDuringAFinalization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, grace := newReporter(t), time.Minute
		snapshot := finalizing(pod("p", time.Now().Add(grace)))
		if next := r.finalizes(snapshot, pipeline.Response{}); next != syncqueue.Done(0).Within(grace+finalizeThreshold) {
			t.Errorf("the next sync is %v", next)
		}
		time.Sleep(grace + finalizeThreshold)
		r.finalizes(snapshot, pipeline.Response{})
		r.expect(0, 1)
	})
}

func TestWhichAnswersDoNotFinish(t *testing.T) {
	change := func(change func(*pipeline.Snapshot)) *pipeline.Snapshot {
		snapshot := finalizing()
		change(snapshot)
		return snapshot
	}
	for name, test := range map[string]struct {
		snapshot *pipeline.Snapshot
		answer   pipeline.Response
		want     bool
	}{
		"without the field":                      {finalizing(), pipeline.Response{}, true},
		"finalized: false":                       {finalizing(), pipeline.Response{SaysFinalized: true}, true},
		"finalized: true":                        {finalizing(), pipeline.Response{SaysFinalized: true, Finalized: true}, false},
		"of a sync hook":                         {change(func(s *pipeline.Snapshot) { s.Finalizing = false }), pipeline.Response{}, false},
		"about a parent without the finalizer":   {change(func(s *pipeline.Snapshot) { s.Parent.Finalizers = []string{"others"} }), pipeline.Response{}, false},
		"about a parent that is not deleted yet": {change(func(s *pipeline.Snapshot) { s.Parent.DeletionTimestamp = nil }), pipeline.Response{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var none *finalization
			if waits := none.next(test.snapshot, &test.answer, time.Now()) != nil; waits != test.want {
				t.Errorf("the finalization goes on: %v, want %v", waits, test.want)
			}
		})
	}
}

func TestWhatAFinalizationWaitsFor(t *testing.T) {
	deleted := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	f := &finalization{since: deleted.Add(time.Hour)}
	for name, test := range map[string]struct {
		children   []*object.Object
		definition bool
		want       string // the end of the message
	}{
		"nothing": {want: `the cluster cannot delete this object until the hook returns "finalized": true; the hook no ` +
			`longer sees any children`},
		"a child without finalizers": {children: []*object.Object{pod("p", deleted)}, want: `still exist: Pod default/p (is being deleted)`},
		"those that leave come first": {
			children: []*object.Object{pod("p", time.Time{}), pod("q", deleted, "x/y", "z")},
			want:     `still exist: Pod default/q (is being deleted, and the owners of its finalizers ["x/y" "z"] have to remove them), Pod default/p`,
		},
		"many": {
			children: []*object.Object{pod("a", deleted), pod("b", deleted), pod("c", deleted), pod("d", deleted), pod("e", time.Time{}), pod("f", time.Time{}), pod("g", time.Time{})},
			want:     `Pod default/d (is being deleted), Pod default/e and 2 more`,
		},
		"with its type": {definition: true, want: `no longer sees any children; its CustomResourceDefinition is being deleted, and also waits`},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := finalizing(test.children...)
			at := metav1.NewTime(deleted)
			snapshot.Parent.DeletionTimestamp = &at
			message := f.describe(snapshot, test.definition)
			if !strings.HasSuffix(message, test.want) || !strings.Contains(message, "has been waiting for it since 2026-03-04T05:06:07Z: ") {
				t.Errorf("it says\n%s\nwant the end\n%s", message, test.want)
			}
		})
	}
}

func TestAPauseStopsTheClocks(t *testing.T) {
	for name, step := range map[string]func(r *reporter){
		"of a finalization": func(r *reporter) {
			r.finalizes(finalizing(pod("p", time.Time{})), pipeline.Response{})
		},
		"of a sync that waits": func(r *reporter) {
			r.reports(syncFacts{retry: true, overtaken: &overtakenError{"ConfigMap default/c"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReporter(t)
				step(r)
				r.pause(web("a"), r.state)
				time.Sleep(time.Hour)
				step(r)
				if failing := r.Health().Failing; failing != 0 {
					t.Errorf("right after the pause, the parent fails: %v", r.Health().Failure)
				}
				time.Sleep(stallThreshold)
				step(r)
				if failing := r.Health().Failing; failing != 1 {
					t.Error("some time after the pause, the parent does not fail")
				}
			})
		})
	}
}

// hostOfWeb serves a watch of one parent, webs/a, with that metadata, until it is removed. It answers all writes of it with
// another metadata, and counts them.
type hostOfWeb struct {
	*rest.Config
	writes  atomic.Int32
	removed chan struct{}
}

func newHostOfWeb(t *testing.T, metadata, answer string) *hostOfWeb {
	t.Helper()
	host := &hostOfWeb{removed: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		send := func(event, metadata string) {
			_, _ = fmt.Fprintf(w, `{"type":%q,"object":{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{%s}}}`+"\n", event, metadata)
			w.(http.Flusher).Flush()
		}
		switch {
		case r.Method == http.MethodPut:
			host.writes.Add(1)
			_, _ = io.WriteString(w, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{`+answer+`}}`)
		case r.URL.Query().Get("watch") == "true":
			if strings.HasSuffix(r.URL.Path, "/webs") {
				send("ADDED", metadata)
			}
			send("BOOKMARK", `"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}`)
			select {
			case <-host.removed:
				send("DELETED", strings.Replace(metadata, `"1"`, `"2"`, 1))
				<-r.Context().Done()
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	host.Config = &rest.Config{Host: server.URL}
	return host
}

// controller makes a controller of the host whose hooks answer that. It counts their calls.
func (h *hostOfWeb) controller(t *testing.T, answer string, change func(spec *Spec, webhook v1alpha1.Webhook)) (_ *Controller, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(hooks.Close)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), h.Config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	spec := specOf(at(hooks.URL))
	change(spec, at(hooks.URL))
	return controllerAt(t, h.Config, Dependencies{
		Events: events, Metrics: prometheus.NewRegistry(), Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
		Syncs: &rows.Syncs{}, Calls: calllog.New(time.Now()),
	}, spec), calls
}

// A sync may run after a parent has lost its last finalizer and before the watch tells that the parent is gone. The host answers the
// write with the version before it.
func TestTheLastFinalizerOfAParentIsRemovedOnce(t *testing.T) {
	const left = `"name":"a","namespace":"default","uid":"u","resourceVersion":"1","deletionTimestamp":"2026-03-04T05:06:07Z"`
	finalize := func(spec *Spec, webhook v1alpha1.Webhook) { spec.Finalize = &v1alpha1.Hook{Webhook: &webhook} }
	for name, test := range map[string]struct {
		finalizer, answer string
		change            func(spec *Spec, webhook v1alpha1.Webhook)
		calls             int32
	}{
		"no finalize hook is left":  {"compositecontroller", "", func(*Spec, v1alpha1.Webhook) {}, 0},
		"the finalize hook is done": {"compositecontroller", `{"children":[],"finalized":true}`, finalize, 1},
		"that of a DecoratorController is done": {"decoratorcontroller", `{"attachments":[],"finalized":true}`, func(spec *Spec, webhook v1alpha1.Webhook) {
			spec.Kind = Kind{
				Name: "DecoratorController", FinalizerPrefix: v1alpha1.DecoratorFinalizerPrefix,
				Stages: planner.Stages{CallHook: (*hook.Webhook).SyncDecorator, Plan: plan.Decorator, PlanInputsHash: plan.DecoratorInputs},
			}
			spec.Claims = observe.AnnotationClaims{Name: "webs"}
			finalize(spec, webhook)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHostOfWeb(t, left+`,"finalizers":["metacontroller.io/`+test.finalizer+`-webs"]`, left)
			c, calls := host.controller(t, test.answer, test.change)
			for range 3 {
				c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
			}
			if writes := host.writes.Load(); writes != 1 || calls.Load() != test.calls {
				t.Errorf("the finalizer was removed %d times, after %d calls of hooks, want %d", writes, calls.Load(), test.calls)
			}
			close(host.removed)
			for c.planner.Observer.Get(web("a")) != nil {
				<-time.After(time.Millisecond)
			}
			if next := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); next != syncqueue.Forget() || c.parents.find(web("a")) != nil {
				t.Errorf("the parent is gone, but next is %+v", next)
			}
		})
	}
}

// An admission policy may take a finalizer off as it is put on. The host then has nothing to store, and the parent stays.
func TestAParentWhoseFinalizerIsRefusedIsSynced(t *testing.T) {
	const metadata = `"name":"a","namespace":"default","uid":"u","resourceVersion":"1"`
	host := newHostOfWeb(t, metadata, metadata)
	c, calls := host.controller(t, `{"children":[]}`, func(spec *Spec, webhook v1alpha1.Webhook) { spec.Finalize = &v1alpha1.Hook{Webhook: &webhook} })
	for range 3 {
		c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("the hook was called %d times in 3 syncs", n)
	}
}

// A controller that is being deleted calls the hook about parents that are being deleted, and about no others.
func TestAControllerThatLeavesSyncsOnlyWhatItFinalizes(t *testing.T) {
	const finalizer = `"finalizers":["metacontroller.io/compositecontroller-webs"]`
	const deleted = `,"deletionTimestamp":"2026-01-02T03:04:05Z"`
	parents := map[string]string{
		"going":  finalizer + deleted,
		"paused": finalizer + deleted + `,"annotations":{"metacontroller.k8s.io/paused":"true"}`,
		"stays":  finalizer,
		"halted": finalizer + `,"annotations":{"metacontroller.k8s.io/paused":"true"}`,
		"fresh":  `"labels":{}`,
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for name, metadata := range parents {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web",`+
				`"metadata":{"name":%q,"namespace":"default","uid":"u-%s","resourceVersion":"1",%s}}}`, name, name, metadata)
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	called, answer := make(chan string, 10), make(chan struct{})
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for name := range parents {
			if strings.Contains(string(body), `"u-`+name+`"`) {
				called <- name
			}
		}
		<-answer
		_, _ = io.WriteString(w, `{"finalized":false}`)
	}))
	t.Cleanup(func() {
		host.CloseClientConnections()
		host.Close()
		webhook.Close()
	})
	events, _ := eventsOf(t)
	spec := specOf(at(webhook.URL))
	spec.Finalize = spec.Sync
	c := controllerAt(t, &rest.Config{Host: host.URL}, Dependencies{
		Metrics: prometheus.NewRegistry(),
		Hook:    hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
		Syncs:   &rows.Syncs{}, Calls: calllog.New(time.Now()), Events: events,
	}, spec)
	if left := c.Leaving.Begin(); left.IsBusy || left.Finalizing != 1 || left.Staying != 3 || left.ToBeDeleted != 0 {
		t.Errorf("at the beginning, there is left %+v", left)
	}
	c.Leaving.isTypeBeingDeleted = func(resource schema.GroupResource) bool { return resource.Group == "ctl.example" }
	if left := c.Leaving.Begin(); left.Staying != 3 || left.ToBeDeleted != 1 {
		t.Errorf("when the definition of the parents is being deleted, there is left %+v", left)
	}
	for _, name := range []string{"stays", "fresh", "paused"} {
		if next := c.sync(t.Context(), web(name), syncqueue.ParentChanged); next != syncqueue.Done(0) {
			t.Errorf("%s is synced again: %v", name, next)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.sync(t.Context(), web("going"), syncqueue.ParentChanged)
	}()
	if name := <-called; name != "going" {
		t.Errorf("the hook was called about %s", name)
	}
	if left := c.Leaving.Begin(); !left.IsBusy {
		t.Error("a call that is under way does not count")
	}
	if c.Leaving.End() {
		t.Error("the last call has ended before its answer")
	}
	before := c.Leaving.Begin().Answered
	close(answer)
	<-ended
	if left := c.Leaving.Begin(); left.IsBusy || left.Finalizing != 1 || !left.Answered.After(before) {
		t.Errorf("after an answer, there is left %+v", left)
	}
	if !c.Leaving.End() {
		t.Error("the last call has not ended")
	}
	c.sync(t.Context(), web("going"), syncqueue.ParentChanged)
	if len(called) > 0 {
		t.Errorf("the hook was called about %s", <-called)
	}
	c.Leaving.Resume()
	c.sync(t.Context(), web("going"), syncqueue.ParentChanged)
	if len(called) != 1 {
		t.Errorf("the hook was called %d times after the controller resumed, want once", len(called))
	}
}

// The cluster may take longer to delete the parents of a definition than a hook may stay silent.
func TestTheHookOfAControllerThatLeavesIsNotSilentWhileItIsNotCalled(t *testing.T) {
	const finalizer = `"finalizers":["metacontroller.io/compositecontroller-webs"]`
	host := newHostOfWeb(t, `"name":"a","namespace":"default","uid":"u","resourceVersion":"1",`+finalizer, "")
	c, _ := host.controller(t, `{}`, func(spec *Spec, webhook v1alpha1.Webhook) { spec.Finalize = &v1alpha1.Hook{Webhook: &webhook} })
	before := c.Leaving.Begin().Answered
	if left := c.Leaving.Begin(); left.Staying != 1 || !left.Answered.After(before) {
		t.Errorf("there is left %+v, which has not changed since %s", left, before)
	}
}

// The hook is never called for such a parent, so a controller that is being deleted must not wait for it.
func TestAParentThatTheSpecDoesNotFinalizeIsNotWaitedFor(t *testing.T) {
	const finalizer = `"finalizers":["metacontroller.io/compositecontroller-webs"]`
	host := newHostOfWeb(t, `"name":"a","namespace":"default","uid":"u","resourceVersion":"1",`+finalizer, "")
	c, _ := host.controller(t, `{}`, func(*Spec, v1alpha1.Webhook) {})
	c.Leaving.isTypeBeingDeleted = func(schema.GroupResource) bool { return true }
	if left := c.Leaving.Begin(); left.Staying != 1 || left.ToBeDeleted != 0 {
		t.Errorf("there is left %+v", left)
	}
}

func TestASilentFinalizeHookIsCalledAgain(t *testing.T) {
	for name, test := range map[string]struct {
		enqueued, answered time.Duration // ago
		calls              bool
	}{
		"it has just been called":                  {0, callInterval, false},
		"it has just responded":                    {callInterval, 0, false},
		"it is silent since it was last called":    {callInterval, callInterval, true},
		"it has been silent for less than a while": {callInterval - time.Second, callInterval, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			l := Leaving{enqueued: now.Add(-test.enqueued)}
			if got := l.callsAgain(now, now.Add(-test.answered)); got != test.calls {
				t.Errorf("it is called again: %v", got)
			}
		})
	}
}
