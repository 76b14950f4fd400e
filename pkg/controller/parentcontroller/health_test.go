// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

func TestHealth(t *testing.T) {
	c := made(t)
	defer c.Close()
	if got := c.Health(); got != (report.Health{Uncounted: true}) {
		t.Errorf("before the first sync it is %+v", got)
	}
	failed := errors.New("no")
	for name, err := range map[string]error{"a": nil, "b": nil, "c": failed} {
		c.reporter.Update(web(name), err)
	}
	c.hookCalls.Update(hook.Sync, snapshotOf("c"), failed)
	_ = c.staleCredentials.Set(c.planner.Hooks.Sync, errors.New("Secret is gone"))
	c.reporter.SetFindings(web("a"), []pipeline.Warning{{Reason: v1alpha1.ReasonUnknownField, Message: "x"}}, 0)
	got := c.Health()
	if got.Synced != 2 || got.Failing != 1 || !got.HookCalled || got.HookError != "about Web default/c: no" || got.LastError == nil || got.LastError.Parent.Name != "c" {
		t.Errorf("it is %+v", got)
	}
	if again := c.Health(); got != again || got.StaleCredentials != "Secret is gone" || got.Warning.Message != "x" {
		t.Errorf("it is %+v, and then %+v", got, again)
	}
}

// The status is made every few seconds, and there may be thousands of parents.
func TestHealthCostsTheSameHoweverManyParentsThereAre(t *testing.T) {
	c := made(t)
	defer c.Close()
	const parents = 2000
	failed := errors.New("no")
	for i := range parents {
		name := fmt.Sprint("p-", i)
		c.parentChanged(nil, snapshotOf(name).Parent, false)
		c.reporter.Update(web(name), failed)
		c.hookCalls.Update(hook.Sync, snapshotOf(name), failed)
	}
	if got := c.Health(); got.Total != parents || got.Failing != parents || got.HookError == "" {
		t.Fatalf("it is %+v", got)
	}
	alloctest.AtMost(t, 7, func() { c.Health() })
}

func TestCountsFollowParents(t *testing.T) {
	c := made(t)
	defer c.Close()
	a, again, b := snapshotOf("a").Parent, snapshotOf("a").Parent, snapshotOf("b").Parent
	expect := func(total, synced, failing int) {
		t.Helper()
		if got := c.Health(); got.Total != total || got.Synced != synced || got.Failing != failing {
			t.Errorf("of %d parents %d are synced and %d failing, want %d, %d and %d", got.Total, got.Synced, got.Failing, total, synced, failing)
		}
	}
	c.parentChanged(nil, a, false)
	c.parentChanged(nil, b, false)
	c.parentChanged(a, again, false)
	expect(2, 0, 0)
	for _, err := range []error{nil, errors.New("no"), errors.New("still no")} {
		c.reporter.Update(web("a"), err)
	}
	c.reporter.Update(web("b"), nil)
	expect(2, 1, 1)
	c.reporter.Update(web("a"), nil)
	expect(2, 2, 0)
	c.reporter.Update(web("b"), errors.New("no"))
	c.parentChanged(b, nil, false)
	c.reporter.Forget(web("b"))
	expect(1, 1, 0)
}

// RuntimeProblem is called four times a second for each controller.
func TestThatThereIsNoTroubleIsSeenWithoutAllocations(t *testing.T) {
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{Metrics: prometheus.NewRegistry()}, specOf(at("http://hooks.example"), pods))
	if problem := c.RuntimeProblem(); problem != nil {
		t.Errorf("the problem is %v", problem.Err)
	}
	if allocations := alloctest.Least(func() { c.RuntimeProblem() }); allocations > 0 { // at the least, since its watches allocate, too
		t.Errorf("it takes %d allocations", allocations)
	}
}

func TestThatAParentIsStillRefusedIsSeenWithoutAllocations(t *testing.T) {
	customize := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"relatedResources":[{"apiVersion":"v1","resource":"pods"}]}`)
	}))
	t.Cleanup(customize.Close)
	config, _ := hostOf(t)
	spec, webhook := specOf(at("http://hooks.example"), pods), at(customize.URL)
	spec.Customize = &v1alpha1.Hook{Webhook: &webhook}
	spec.Access.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}
	c := controllerAt(t, config, Dependencies{
		Metrics: prometheus.NewRegistry(), Discovery: hosttest.Discovery(t), Permissions: permissions.New(refusing{}),
		Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, Metrics: hook.NewMetrics()},
	}, spec)
	observe := func(answer *related.Answer) {
		t.Helper()
		if err := c.planner.Related.Observe(t.Context(), answer, snapshotOf("a")); err == nil {
			t.Error("it is shown")
		}
	}
	answer := &related.Answer{}
	t.Cleanup(func() { c.planner.Related.Forget(answer) })
	observe(answer)
	problem := c.RuntimeProblem()
	if problem == nil || problem.Reason != v1alpha1.ReasonForbidden {
		t.Fatalf("the problem is %+v", problem)
	}
	if allocations := alloctest.Least(func() { c.RuntimeProblem() }); allocations > 0 { // at the least, since its watches allocate, too
		t.Errorf("it takes %d allocations", allocations)
	}
	observe(answer)
	if c.RuntimeProblem() != problem {
		t.Error("the same refusal of the same parent makes another problem")
	}
	other := &related.Answer{}
	observe(other)
	if c.RuntimeProblem() == problem {
		t.Error("the refusal of another parent is not looked at")
	}
	c.planner.Related.Forget(other)
}

func TestAControllerThatDoesNotSeeAllItsObjectsHasAProblem(t *testing.T) {
	c := made(t)
	defer c.Close()
	if problem := c.RuntimeProblem(); problem == nil || c.IsFilled() {
		t.Errorf("the problem is %v, its caches are filled %v", problem, c.IsFilled())
	}
}

// Before its parents are counted, a controller would pass for one that has none.
func TestParentsAreUncountedUntilTheHandlersHaveSeenThem(t *testing.T) {
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{Metrics: prometheus.NewRegistry()}, specOf(at("http://hooks.example"), pods))
	if health := c.Health(); !health.Uncounted || health.Total != 0 {
		t.Errorf("before it runs, its health is %+v", health)
	}
	remove, err := c.addEventHandlers()
	defer remove()
	if err != nil {
		t.Fatal(err)
	}
	for !c.IsCounted() {
		if t.Context().Err() != nil {
			t.Fatal("the parents are never counted")
		}
		runtime.Gosched()
	}
	if health := c.Health(); health.Uncounted || health.Total != 1 {
		t.Errorf("with one parent, its health is %+v", health)
	}
}

func TestASyncThatWasPutOffLeavesTheHealthAsItWas(t *testing.T) {
	a, b := web("a"), web("b")
	c := newReporter(t).Controller
	c.reporter.Update(a, nil)
	c.reporter.Update(b, errors.New("no"))
	for _, putOff := range []error{&hook.ThrottledError{}, &related.NotListedError{}, &overtakenError{}, &finalizerPostponedError{}} {
		c.conclude(t.Context(), a, &parentState{}, &syncFacts{err: fmt.Errorf("sync hook failed: %w", putOff)}, time.Now())
		if health := c.Health(); health.Synced != 1 || health.LastError.Parent != b {
			t.Errorf("a sync that was put off (%v) is neither a failure nor a success", putOff)
		}
	}
	c.conclude(t.Context(), a, &parentState{}, &syncFacts{err: fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{})}, time.Now())
	if health := c.Health(); health.Synced != 0 || health.LastError.Parent != b {
		t.Error("a parent whose hook is down fails, and the call that was not answered tells why")
	}
}

func TestTheLastErrorOfAnEarlierProcessRecovers(t *testing.T) {
	failed := errors.New("no")
	for name, test := range map[string]struct {
		parent, kind string
		sync         func(h *status.Tracker)
		want         bool
	}{
		"when its parent is synced":        {"default/a", "Web", func(h *status.Tracker) { h.Update(web("a"), nil) }, true},
		"not before":                       {"default/a", "Web", func(*status.Tracker) {}, false},
		"not when another parent is":       {"default/a", "Web", func(h *status.Tracker) { h.Update(web("b"), nil) }, false},
		"not when its parent fails again":  {"default/a", "Web", func(h *status.Tracker) { h.Update(web("a"), failed) }, false},
		"when its parent is gone":          {"default/gone", "Web", func(*status.Tracker) {}, true},
		"when its kind is none of parents": {"default/a", "Shop", func(*status.Tracker) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := controllerAt(t, hostOfTen(t), Dependencies{
				Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
			}, specOf(at("http://hooks.example")))
			c.Recall(&v1alpha1.LastSyncError{Message: "cannot be resolved", Parent: test.parent, Kind: test.kind})
			remove, err := c.addEventHandlers()
			if err != nil {
				t.Fatal(err)
			}
			defer remove()
			for !c.IsCounted() {
				runtime.Gosched()
			}
			test.sync(c.reporter.Tracker)
			if last := c.Health().LastError; last == nil || last.Recovered.IsZero() == test.want {
				t.Errorf("it is %+v, want it to have recovered: %v", last, test.want)
			}
		})
	}
}

func TestTheHealthOfAControllerIsMeasured(t *testing.T) {
	c := made(t)
	defer c.Close()
	for name, err := range map[string]error{"a": nil, "b": nil, "c": errors.New("no")} {
		c.reporter.Update(web(name), err)
	}
	c.pause(web("d"), &parentState{})
	c.reporter.SetFindings(web("a"), []pipeline.Warning{{Reason: v1alpha1.ReasonUnknownField, Message: "spec.x"}}, 3)
	err := testutil.CollectAndCompare(status.NewMetrics(c, c.spec.Kind.Name, c.spec.Name, c.planner.Hooks.ByName()), strings.NewReader(`
# HELP metacontroller_children_outdated [ALPHA] Outdated children whose update method is OnDelete or not set.
# TYPE metacontroller_children_outdated gauge
metacontroller_children_outdated{controller_name="webs",controller_type="CompositeController"} 3
# HELP metacontroller_controller_ready [ALPHA] 1 if the running controller sees the cluster and reaches its hooks, 0 if not.
# TYPE metacontroller_controller_ready gauge
metacontroller_controller_ready{controller_name="webs",controller_type="CompositeController"} 0
# HELP metacontroller_hook_down [ALPHA] 1 if several consecutive calls of the hook got no answer, 0 otherwise.
# TYPE metacontroller_hook_down gauge
metacontroller_hook_down{controller_name="webs",controller_type="CompositeController",hook="sync"} 0
# HELP metacontroller_parents [ALPHA] Parents of the controller by how their last sync ended: synced, failing, paused, or pending if there was none.
# TYPE metacontroller_parents gauge
metacontroller_parents{controller_name="webs",controller_type="CompositeController",state="failing"} 1
metacontroller_parents{controller_name="webs",controller_type="CompositeController",state="paused"} 1
metacontroller_parents{controller_name="webs",controller_type="CompositeController",state="synced"} 2
# HELP metacontroller_parents_warned [ALPHA] Parents whose last sync found a probable mistake.
# TYPE metacontroller_parents_warned gauge
metacontroller_parents_warned{controller_name="webs",controller_type="CompositeController"} 1
# HELP metacontroller_write_loops [ALPHA] Writes that the server throttles because they repeat in a loop.
# TYPE metacontroller_write_loops gauge
metacontroller_write_loops{controller_name="webs",controller_type="CompositeController"} 0
`))
	if err != nil {
		t.Error(err)
	}
}

const deprecated = "v1 Pod is on its way out; use v2"

// warningOf is a host that warns in each answer about Pods, and serves nothing else than a list without objects.
func warningOf(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/pods") {
			w.Header().Set("Warning", `299 - "`+deprecated+`"`)
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL}
}

// A type that is deprecated is no mistake of a parent: nothing in an answer can change it.
func TestTheControllerIsWarnedOfATypeOnce(t *testing.T) {
	eventsAt, sent := hostOf(t)
	ctx := context.WithoutCancel(t.Context())
	events, err := report.NewEvents(ctx, eventsAt, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	c := controllerAt(t, warningOf(t), Dependencies{Events: events}, specOf(at("http://hooks.example"), pods))
	controller := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "c"}}
	if err := c.Connect(t.Context(), controller); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.WaitForCaches(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const other = "would violate PodSecurity"
	outcomes := []pipeline.Outcome{
		{Step: pipeline.Step{Type: pods}, Warnings: []string{deprecated, other}},
		{Step: pipeline.Step{Type: object.Type{Kind: "Other"}}, Warnings: []string{deprecated}},
	}
	c.reporter.DropTypeWarnings(outcomes, c.views())
	if got := [][]string{outcomes[0].Warnings, outcomes[1].Warnings}; !cmp.Equal(got, [][]string{{other}, {deprecated}}) {
		t.Errorf("the parent is warned of %v", got)
	}
	events.Shutdown()
	if len(sent) != 1 {
		t.Fatalf("%d events are written, want one", len(sent))
	}
	if event := <-sent; event.Reason != "ClusterWarning" || event.Message != "Pod.v1: the cluster warns: "+deprecated {
		t.Errorf("the event is %s: %s", event.Reason, event.Message)
	}
}
