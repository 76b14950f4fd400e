// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

func TestHealth(t *testing.T) {
	c := made(t)
	defer c.Close()
	if got := c.Health(); !reflect.DeepEqual(got, report.Health{Uncounted: true}) {
		t.Errorf("before the first sync it is %+v", got)
	}
	failed := errors.New("no")
	for name, err := range map[string]error{"a": nil, "b": nil, "c": failed} {
		c.health.update(web(name), err)
	}
	c.hookCalls.update(hook.Sync, snapshotOf("c"), failed)
	got := c.Health()
	if got.Synced != 2 || got.Failing != 1 || !got.HookCalled || !errors.Is(got.HookErr, failed) || got.LastError == nil || got.LastError.Parent.Name != "c" {
		t.Errorf("it is %+v", got)
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
		c.health.update(web(name), failed)
		c.hookCalls.update(hook.Sync, snapshotOf(name), failed)
	}
	if got := c.Health(); got.Total != parents || got.Failing != parents || got.HookErr == nil {
		t.Fatalf("it is %+v", got)
	}
	alloctest.Exactly(t, 7, func() { c.Health() })
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
		c.health.update(web("a"), err)
	}
	c.health.update(web("b"), nil)
	expect(2, 1, 1)
	c.health.update(web("a"), nil)
	expect(2, 2, 0)
	c.health.update(web("b"), errors.New("no"))
	c.parentChanged(b, nil, false)
	c.health.forget(web("b"))
	expect(1, 1, 0)
}

// The rules may be too long for the status of a parent's failure. The condition Ready has them.
func TestTheFailureOfAParentIsWithoutTheMissingRules(t *testing.T) {
	health := newSyncHealth()
	health.update(web("a"), fmt.Errorf("observe: %w", refused("secrets")))
	const want = "observe: service account shop/websites lacks rights to read what the controller needs; the condition Ready of the controller has the rules to bind to it"
	if got := health.lastError.Message; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

// refused is the error of an account that may not read a type.
func refused(resource string) *permissions.Error {
	of := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Namespaced: true}
	return &permissions.Error{Account: v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}, Missing: permissions.ToShow(of, nil, "a test")}
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
		Hook: hook.Options{MaxResponseBytes: 1 << 20, Metrics: hook.NewMetrics()},
	}, spec)
	observe := func(answer *related.Answer) {
		t.Helper()
		if err := c.related.Observe(t.Context(), answer, snapshotOf("a")); err == nil {
			t.Error("it is shown")
		}
	}
	answer := &related.Answer{}
	t.Cleanup(func() { c.related.Forget(answer) })
	observe(answer)
	problem := c.RuntimeProblem()
	if problem == nil || problem.Reason != report.ReasonForbidden {
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
	c.related.Forget(other)
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
	remove, err := c.addEventHandlers(t.Context())
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

func TestHowTheLastSyncsEnded(t *testing.T) {
	a, b := web("a"), web("b")
	h := newSyncHealth()
	c := &Controller{line: line{spec: &Spec{}}, health: h}
	h.update(a, nil)
	h.update(b, errors.New("no"))
	if !h.parents[a].succeeded || h.parents[b].succeeded || h.lastError == nil || h.lastError.Parent != b || h.lastError.Message != "no" || h.lastError.Time.IsZero() {
		t.Errorf("parents %v, last error %v", h.parents, h.lastError)
	}
	for _, putOff := range []error{&hook.ThrottledError{}, &related.NotListedError{}, &overtakenError{}, &finalizerPostponedError{}} {
		c.conclude(t.Context(), a, &parentState{}, &syncFacts{err: fmt.Errorf("sync hook failed: %w", putOff)}, time.Now())
		if !h.parents[a].succeeded || h.lastError.Parent != b {
			t.Errorf("a sync that was put off (%v) is neither a failure nor a success", putOff)
		}
	}
	c.conclude(t.Context(), a, &parentState{}, &syncFacts{err: fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{})}, time.Now())
	if h.parents[a].succeeded || h.lastError.Parent != b {
		t.Error("a parent whose hook is down fails, and the call that was not answered tells why")
	}
	h.update(a, nil)
	if !h.lastError.Recovered.IsZero() {
		t.Error("another parent has recovered")
	}
	h.update(b, nil)
	if !h.parents[b].succeeded || h.lastError.Message != "no" || h.lastError.Recovered.IsZero() {
		t.Errorf("the last error stays when its parent has recovered, and says so: %+v", h.lastError)
	}
	h.update(a, errors.New("once more"))
	if !h.lastError.Recovered.IsZero() || h.lastError.Parent != a {
		t.Errorf("the last error is %+v", h.lastError)
	}
	h.forget(a)
	if h.lastError.Recovered.IsZero() {
		t.Error("a parent that is gone does not fail any more")
	}
	if _, known := h.parents[a]; known {
		t.Error("a parent that is gone is still known")
	}
}

func TestTheStatusShowsTheSameFailureAndWarningWhileTheyLast(t *testing.T) {
	h := newSyncHealth()
	for i := range 50 {
		h.update(web(fmt.Sprint(i)), errors.New("no"))
		h.setFindings(web(fmt.Sprint(i)), []pipeline.Warning{{Message: fmt.Sprint("warning ", i)}}, 2)
	}
	failing, warned := h.failure().Parent, h.warning(ofChildren).Parent
	for range 50 {
		if h.failure().Parent != failing || h.warning(ofChildren).Parent != warned {
			t.Fatal("another parent is shown each time")
		}
	}
	h.update(failing, nil)
	h.setFindings(warned, nil, 0)
	if h.failure().Parent == failing || h.warning(ofChildren).Parent == warned || h.failing != 49 || h.warned != 49 || h.outdated != 98 {
		t.Errorf("%d fail and %d are warned, %d children are outdated", h.failing, h.warned, h.outdated)
	}
	for i := range 50 {
		h.forget(web(fmt.Sprint(i)))
	}
	if h.failure() != nil || h.warning(ofChildren) != nil || h.outdated != 0 {
		t.Errorf("without parents, %d fail, %d are warned and %d children are outdated", h.failing, h.warned, h.outdated)
	}
}

func TestTheStatusShowsTheGravestWarning(t *testing.T) {
	outdated, rollout := pipeline.Warning{Reason: pipeline.ChildOutdated, Message: "outdated"}, pipeline.Warning{Reason: pipeline.RolloutWaiting, Message: "waits"}
	h := newSyncHealth()
	expect := func(when, want string) {
		t.Helper()
		if got := h.warning(ofChildren); got == nil || string(got.Reason)+" "+got.Message != want {
			t.Errorf("%s, it shows %+v, want %s", when, got, want)
		}
	}
	h.setFindings(web("a"), []pipeline.Warning{outdated}, 0)
	expect("with one warning", "ChildOutdated outdated")
	h.setFindings(web("b"), []pipeline.Warning{outdated, rollout}, 0)
	expect("with a graver one of another parent", "RolloutWaiting waits; outdated")
	h.setFindings(web("a"), []pipeline.Warning{rollout}, 0)
	expect("with one as grave", "RolloutWaiting waits; outdated")
	h.setFindings(web("b"), []pipeline.Warning{outdated}, 0)
	expect("when that has become less grave", "RolloutWaiting waits")
	h.setFindings(web("a"), nil, 0)
	expect("when it is over", "ChildOutdated outdated")
}

// The end of a failure is told if there was an event about the failure.
func TestWhichFailuresAreToldToBeOver(t *testing.T) {
	no, open, unfinalized := errors.New("no"), &hook.CircuitOpenError{}, &unfinalizedError{"not finalized"}
	for name, test := range map[string]struct {
		syncs []error
		want  []string // after each sync, what is over
	}{
		"an error":                                         {[]error{nil, no, no, nil, nil}, []string{"", "", "", "no", ""}},
		"the last one of two errors":                       {[]error{errors.New("first"), no, nil}, []string{"", "", "no"}},
		"an open circuit has no event":                     {[]error{open, nil}, []string{"", ""}},
		"an error stays when the circuit opens then":       {[]error{no, open, nil}, []string{"", "", "no"}},
		"an error after an open circuit":                   {[]error{open, no, nil}, []string{"", "", "no"}},
		"a finalization goes on, and ends with its parent": {[]error{unfinalized, nil}, []string{"", ""}},
		"an error of a finalize hook":                      {[]error{unfinalized, no, nil}, []string{"", "", "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSyncHealth()
			var over []string
			for _, err := range test.syncs {
				message := ""
				if failure := h.update(web("a"), err); failure != nil {
					message = failure.Message
				}
				over = append(over, message)
			}
			if !slices.Equal(over, test.want) {
				t.Errorf("over are %q, want %q", over, test.want)
			}
		})
	}
}

// A sync that is put off before it has an end may have had a plan.
func TestAParentWithFindingsCountsWhenItsSyncHasEnded(t *testing.T) {
	h := newSyncHealth()
	h.setFindings(web("a"), nil, 0)
	if h.succeeded != 0 {
		t.Errorf("%d have succeeded", h.succeeded)
	}
}

func TestTheLastErrorOfAnEarlierProcessRecovers(t *testing.T) {
	failed := errors.New("no")
	for name, test := range map[string]struct {
		parent, kind string
		sync         func(h *syncHealth)
		want         bool
	}{
		"when its parent is synced":        {"default/a", "Web", func(h *syncHealth) { h.update(web("a"), nil) }, true},
		"not before":                       {"default/a", "Web", func(*syncHealth) {}, false},
		"not when another parent is":       {"default/a", "Web", func(h *syncHealth) { h.update(web("b"), nil) }, false},
		"not when its parent fails again":  {"default/a", "Web", func(h *syncHealth) { h.update(web("a"), failed) }, false},
		"when its parent is gone":          {"default/gone", "Web", func(*syncHealth) {}, true},
		"when its kind is none of parents": {"default/a", "Shop", func(*syncHealth) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := controllerAt(t, hostOfTen(t), Dependencies{
				Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
			}, specOf(at("http://hooks.example")))
			c.Recall(&v1alpha1.LastSyncError{Message: "cannot be resolved", Parent: test.parent, Kind: test.kind})
			remove, err := c.addEventHandlers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer remove()
			for !c.IsCounted() {
				runtime.Gosched()
			}
			test.sync(c.health)
			if last := c.Health().LastError; last == nil || last.Recovered.IsZero() == test.want {
				t.Errorf("it is %+v, want it to have recovered: %v", last, test.want)
			}
		})
	}
}
