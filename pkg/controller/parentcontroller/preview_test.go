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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// allowed are options for whoever may read everything.
func allowed(until v1alpha1.SyncReviewStage) preview.Options {
	return preview.Options{
		Until: until, CallHooks: true, Answer: func(hook.Call) ([]byte, error) { return nil, nil },
		Permit: func(context.Context, []rights.Required) error { return nil },
	}
}

// given is allowed with an answer of the sync hook.
func given(until v1alpha1.SyncReviewStage, answer string) preview.Options {
	options := allowed(until)
	options.Answer = func(hook.Call) ([]byte, error) { return []byte(answer), nil }
	return options
}

func TestAPreviewShowsWhatASyncWouldDo(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	for name, test := range map[string]struct {
		options preview.Options
		planned bool
		// calls are the sources and errors of calls, steps what would be done.
		calls, steps []string
	}{
		"as things are, nothing":         {allowed(v1alpha1.SyncReviewUntilPlan), true, []string{"sync: made"}, nil},
		"until the request":              {allowed(v1alpha1.SyncReviewUntilRequest), false, []string{"sync: the preview ends before this call"}, nil},
		"until the response":             {allowed(v1alpha1.SyncReviewUntilResponse), false, []string{"sync: made"}, nil},
		"another status":                 {given(v1alpha1.SyncReviewUntilPlan, strings.Replace(answerOfTen(""), `{"ready":10}`, `{"ready":9}`, 1)), true, []string{"sync"}, []string{"status a"}},
		"another status in a dry run":    {given(v1alpha1.SyncReviewUntilDryRun, strings.Replace(answerOfTen(""), `{"ready":10}`, `{"ready":9}`, 1)), true, []string{"sync"}, []string{"status a: forbidden"}},
		"no answer, and no hook is used": {preview.Options{Answer: allowed("").Answer, Permit: allowed("").Permit}, false, []string{"sync: " + preview.ErrAnswerMissing.Error()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := c.Previews.Preview(t.Context(), web("a"), test.options)
			if found.Err != nil || found.Planned != test.planned {
				t.Errorf("planned is %v, error is %v", found.Planned, found.Err)
			}
			var calls, steps []string
			for _, call := range found.Calls {
				line := call.Hook
				if call.Made {
					line += ": made"
				}
				if call.Err != nil {
					line += ": " + call.Err.Error()
				}
				calls = append(calls, line)
			}
			for _, step := range found.Steps {
				line := fmt.Sprintf("%v %s", step.Op, step.Name)
				if step.Outcome != nil && apierrors.IsForbidden(step.Outcome.Err) {
					line += ": forbidden"
				}
				steps = append(steps, line)
			}
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.steps, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// The hook of the running controller is not called by this preview, its plan is another, and its dry run
// fails. The next sync finds everything as the last one has left it.
func TestAPreviewLeavesNothingBehind(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	quiet := func() {
		t.Helper()
		if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.Done(0) {
			t.Fatal(result, c.Health().LastError)
		}
	}
	quiet()
	state := c.parents.get(web("a"))
	noOp, health, metrics := state.planning.NoOp, c.Health(), gathered(t, c)
	plans := 0
	c.spec.Kind.Plan = func(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies plan.Strategies, upToDate *plan.UpToDateCache) (*pipeline.Plan, error) {
		plans++
		return plan.Composite(snapshot, response, strategies, upToDate)
	}
	found := c.Previews.Preview(t.Context(), web("a"), given(v1alpha1.SyncReviewUntilDryRun, `{"status":{"ready":0},"children":[]}`))
	if len(found.Steps) != 11 || found.Steps[0].Outcome == nil || plans != 1 {
		t.Fatalf("%d steps in %d plans, error is %v", len(found.Steps), plans, found.Err)
	}
	if failed := c.Previews.Preview(t.Context(), web("a"), given(v1alpha1.SyncReviewUntilPlan, `[]`)); failed.Err == nil {
		t.Error("an answer that cannot be read is no error")
	}
	unanswered := given(v1alpha1.SyncReviewUntilPlan, "")
	unanswered.Answer, unanswered.CallHooks = func(hook.Call) ([]byte, error) { return nil, nil }, false
	if missing := c.Previews.Preview(t.Context(), web("a"), unanswered); missing.Planned {
		t.Error("without an answer, there is a plan")
	}
	if c.parents.get(web("a")) != state || state.planning.NoOp != noOp {
		t.Errorf("what the next sync knows was %+v, and is %+v", noOp, state.planning.NoOp)
	}
	if diff := cmp.Diff(health, c.Health()); diff != "" {
		t.Errorf("the health has changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(metrics, gathered(t, c)); diff != "" {
		t.Errorf("metrics have changed (-before +after):\n%s", diff)
	}
	plans = 0
	quiet()
	if plans != 0 {
		t.Error("the next sync has planned what is known to need no write")
	}
	if c.Previews.Preview(t.Context(), web("b"), allowed(v1alpha1.SyncReviewUntilPlan)).Err == nil {
		t.Error("a parent that does not exist was previewed")
	}
	absent := &preview.GivenParent{Object: snapshotOf("b").Parent}
	if found := c.Previews.PreviewAs(t.Context(), absent, allowed(v1alpha1.SyncReviewUntilRequest)); found.Err != nil || len(found.Calls) != 1 || c.parents.find(web("b")) != nil {
		t.Errorf("a parent that is not there yet: %d calls, error is %v, remembered is it: %v", len(found.Calls), found.Err, c.parents.find(web("b")) != nil)
	}
}

// gathered returns all metrics of a controller.
func gathered(t *testing.T, c *Controller) string {
	t.Helper()
	families, err := c.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(families))
	for i, family := range families {
		lines[i] = family.String()
	}
	return strings.Join(lines, "\n")
}

func TestAPreviewWaitsForTheSyncUnderWay(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	state := c.parents.get(web("a"))
	state.mu.Lock()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*recallInterval, errors.New("time is up"))
	defer cancel()
	found := c.Previews.Preview(ctx, web("a"), allowed(v1alpha1.SyncReviewUntilPlan))
	if found.Err == nil || found.Err.Error() != "a sync of the parent is in progress, or the caches do not show its "+
		"writes yet: time is up" || len(found.Calls) > 0 {
		t.Errorf("error is %v after %d calls", found.Err, len(found.Calls))
	}
	time.AfterFunc(3*recallInterval, state.mu.Unlock)
	if found := c.Previews.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan)); found.Err != nil || !found.Planned {
		t.Errorf("after the sync: planned is %v, error is %v", found.Planned, found.Err)
	}
}

// A preview does not know at first how much it needs.
func TestAPreviewWaitsForRoom(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	c.Previews.Budget = hook.NewBudget(256 << 10)
	_, other, err := c.Previews.Budget.Enter(t.Context(), c.owner, 110<<10)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*recallInterval, errors.New("time is up"))
	defer cancel()
	const want = "the preview waits for memory for requests and answers of hooks; --hook-max-bytes-in-flight limits this memory for all syncs together, and for the syncs of CompositeController/webs: time is up (try again later, or raise the limit)"
	found := c.Previews.Preview(ctx, web("a"), allowed(v1alpha1.SyncReviewUntilPlan))
	if found.Err == nil || found.Err.Error() != want {
		t.Errorf("the error is %v", found.Err)
	}
	time.AfterFunc(3*recallInterval, func() { other.Leave() })
	found = c.Previews.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan))
	if found.Err != nil || !found.Planned {
		t.Errorf("once there is room: planned is %v, error is %v", found.Planned, found.Err)
	}
}

func TestAPanicIsTheErrorOfOnePreview(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	good := c.spec.Kind.Plan
	c.spec.Kind.Plan = func(*pipeline.Snapshot, *pipeline.Response, plan.Strategies, *plan.UpToDateCache) (*pipeline.Plan, error) {
		panic("broken")
	}
	if found := c.Previews.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan)); found.Err == nil || !strings.Contains(found.Err.Error(), "broken") {
		t.Errorf("error is %v", found.Err)
	}
	c.spec.Kind.Plan = good
	if found := c.Previews.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan)); found.Err != nil || !found.Planned {
		t.Errorf("planned is %v, error is %v", found.Planned, found.Err)
	}
}

// The hook is not shown what the user of the preview may not get.
func TestAPreviewEndsAtWhatMayNotBeRead(t *testing.T) {
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called = true
		_, _ = w.Write([]byte(answerOfTen("")))
	}))
	t.Cleanup(server.Close)
	c := controllerOfTen(t, server.URL)
	refused := errors.New("may not get ConfigMaps")
	options := allowed(v1alpha1.SyncReviewUntilDryRun)
	options.Permit = func(_ context.Context, required []rights.Required) error {
		for _, one := range required {
			if one.Verb != "get" || one.Namespace != "default" {
				t.Errorf("asked for is %v", one.Right)
			}
			if one.Resource == "configmaps" {
				return refused
			}
		}
		return nil
	}
	found := c.Previews.Preview(t.Context(), web("a"), options)
	if !errors.Is(found.Refusal, refused) || called || len(found.Steps) > 0 {
		t.Errorf("refusal is %v, the hook was called: %v, steps are %v", found.Refusal, called, found.Steps)
	}
}

// bank is a host with an object that a reviewer may not see, and a Web that they may get.
type bank struct {
	mu     sync.Mutex
	listed sets.Set[string]
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.listed.Insert(r.URL.Path)
	b.mu.Unlock()
	const object = `{"type":"ADDED","object":{"apiVersion":%q,"kind":%q,"metadata":` +
		`{"name":%q,"namespace":"default","uid":%q,"resourceVersion":"1","generation":1,"labels":{"tier":"gold"}},` +
		`"spec":{"selector":{"matchLabels":{"tier":"iron"}}}}}`
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/ctl.example/v1/webs":
		_, _ = fmt.Fprintf(w, object, "ctl.example/v1", "Web", "a", "u")
	case "/api/v1/pods":
		_, _ = fmt.Fprintf(w, object, "v1", "Pod", "vault-0", "p")
	case "/api/v1/configmaps":
		_, _ = fmt.Fprintf(w, object, "v1", "ConfigMap", "merger", "c")
	}
	_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",`+
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// reviewedInBank returns a controller at a bank, with a customize hook. Its children are the ConfigMaps that the
// selector of the parent selects.
func reviewedInBank(t *testing.T) (*Controller, *bank) {
	host := &bank{listed: sets.New[string]()}
	server := httptest.NewServer(host)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	configMaps := object.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind:                 "ConfigMap", Namespaced: true,
	}
	version, never := v1alpha1.HookVersionV2, at("http://127.0.0.1:1/never")
	spec := specOf(never, configMaps)
	spec.Customize, spec.Claims = &v1alpha1.Hook{Version: &version, Webhook: &never}, observe.NewLabelClaims(false)
	c := controllerAt(t, &rest.Config{Host: server.URL}, Dependencies{
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}}, Discovery: hosttest.Discovery(t),
	}, spec)
	return c, host
}

// planned are options for a user who has some rights, with an answer of the customize hook.
func planned(rule string, granted ...string) preview.Options {
	return preview.Options{
		Until: v1alpha1.SyncReviewUntilPlan,
		Answer: func(call hook.Call) ([]byte, error) {
			if call.Hook == hook.Customize {
				return []byte(`{"relatedResources":[` + rule + `]}`), nil
			}
			return []byte(`{"status":{},"children":[]}`), nil
		},
		Permit: func(_ context.Context, required []rights.Required) error {
			var missing []string
			for _, one := range required {
				right := strings.TrimSpace(one.Verb + " " + one.Resource + " " + one.Namespace)
				if !sets.New(granted...).Has(right) {
					missing = append(missing, right)
				}
			}
			if missing != nil {
				return fmt.Errorf("missing: %s", strings.Join(missing, ", "))
			}
			return nil
		},
	}
}

// Whether there is an object of a name or with a label makes no difference to those who may not list: they are refused
// before anything is selected, and before the server watches the type.
func TestAGivenAnswerSelectsOnlyWhatItsAuthorMayList(t *testing.T) {
	c, _ := reviewedInBank(t)
	rule := func(text string) string { return `{"apiVersion":"v1","resource":"pods"` + text + `}` }
	named := func(name string) string { return rule(`,"names":["` + name + `"]`) }
	labelled := func(tier string) string { return rule(`,"labelSelector":{"matchLabels":{"tier":"` + tier + `"}}`) }
	own := []string{"get webs default", "get configmaps default"}
	for name, test := range map[string]struct {
		rule, refusal string
		also          []string
	}{
		"a name that exists":    {named("vault-0"), "missing: list pods", nil},
		"a name that does not":  {named("vault-1"), "missing: list pods", nil},
		"a label that exists":   {labelled("gold"), "missing: list pods", nil},
		"a label that does not": {labelled("iron"), "missing: list pods", nil},
		"another namespace":     {rule(`,"namespace":"bank"`), "missing: list pods bank", []string{"list pods default"}},
		"labels of namespaces":  {rule(`,"namespaceSelector":{}`), "missing: list namespaces", []string{"list pods"}},
		"what its author may see": {
			rule(`,"namespace":"default"`), "", []string{"list pods default", "get pods default"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := c.Previews.Preview(t.Context(), web("a"), planned(test.rule, append(test.also, own...)...))
			switch {
			case test.refusal == "":
				if found.Err != nil || !found.Planned {
					t.Errorf("planned is %v, error is %v", found.Planned, found.Err)
				}
				return
			case found.Refusal == nil || found.Refusal.Error() != test.refusal:
				t.Errorf("refusal is %v, want %s", found.Refusal, test.refusal)
			}
		})
	}
	c, host := reviewedInBank(t)
	c.Previews.Preview(t.Context(), web("a"), planned(rule(""), own...))
	if host.mu.Lock(); host.listed.Has("/api/v1/pods") {
		t.Error("the server watches a type for one who may not list it")
	}
	host.mu.Unlock()
}

// A parent that need not exist has the labels and the selector that its author likes.
func TestAGivenParentSelectsOnlyWhatItsAuthorMayList(t *testing.T) {
	c, _ := reviewedInBank(t)
	const manifest = `{"apiVersion":"ctl.example/v1","kind":"Web",` +
		`"metadata":{"name":"b","namespace":"default","uid":"x"},"spec":{"selector":{"matchLabels":{"tier":%q}}}}`
	for _, tier := range []string{"gold", "iron"} {
		given, err := object.Parse(fmt.Appendf(nil, manifest, tier))
		if err != nil {
			t.Fatal(err)
		}
		found := c.Previews.PreviewAs(t.Context(), &preview.GivenParent{Object: given}, planned("", "get webs default"))
		if found.Refusal == nil || found.Refusal.Error() != "missing: list configmaps default" {
			t.Errorf("with a selector for %s, the refusal is %v", tier, found.Refusal)
		}
	}
}
