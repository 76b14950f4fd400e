// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// allowed are options for whoever may read everything.
func allowed(until v1alpha1.SyncReviewStage) PreviewOptions {
	return PreviewOptions{
		Until: until, CallHooks: true, Answer: func(hook.Call) ([]byte, error) { return nil, nil },
		Permit: func(context.Context, []rights.Required) error { return nil },
	}
}

// given is allowed with an answer of the sync hook.
func given(until v1alpha1.SyncReviewStage, answer string) PreviewOptions {
	options := allowed(until)
	options.Answer = func(hook.Call) ([]byte, error) { return []byte(answer), nil }
	return options
}

func TestAPreviewShowsWhatASyncWouldDo(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	for name, test := range map[string]struct {
		options PreviewOptions
		planned bool
		// calls are the sources and errors of calls, steps what would be done.
		calls, steps []string
	}{
		"as things are, nothing":         {allowed(v1alpha1.SyncReviewUntilPlan), true, []string{"sync: made"}, nil},
		"until the request":              {allowed(v1alpha1.SyncReviewUntilRequest), false, []string{"sync: the preview ends before this call"}, nil},
		"until the response":             {allowed(v1alpha1.SyncReviewUntilResponse), false, []string{"sync: made"}, nil},
		"another status":                 {given(v1alpha1.SyncReviewUntilPlan, strings.Replace(answerOfTen(""), `{"ready":10}`, `{"ready":9}`, 1)), true, []string{"sync"}, []string{"status a"}},
		"another status in a dry run":    {given(v1alpha1.SyncReviewUntilDryRun, strings.Replace(answerOfTen(""), `{"ready":10}`, `{"ready":9}`, 1)), true, []string{"sync"}, []string{"status a: forbidden"}},
		"no answer, and no hook is used": {PreviewOptions{Answer: allowed("").Answer, Permit: allowed("").Permit}, false, []string{"sync: " + ErrAnswerMissing.Error()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			preview := c.Preview(t.Context(), web("a"), test.options)
			if preview.Err != nil || preview.Planned != test.planned {
				t.Errorf("planned is %v, error is %v", preview.Planned, preview.Err)
			}
			var calls, steps []string
			for _, call := range preview.Calls {
				line := call.Hook
				if call.Made {
					line += ": made"
				}
				if call.Err != nil {
					line += ": " + call.Err.Error()
				}
				calls = append(calls, line)
			}
			for _, step := range preview.Steps {
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
	noOp, health, metrics := state.noOp, c.Health(), gathered(t, c)
	plans := 0
	c.spec.Kind.Plan = func(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies plan.Strategies, upToDate *plan.UpToDateCache) (*pipeline.Plan, error) {
		plans++
		return plan.Composite(snapshot, response, strategies, upToDate)
	}
	preview := c.Preview(t.Context(), web("a"), given(v1alpha1.SyncReviewUntilDryRun, `{"status":{"ready":0},"children":[]}`))
	if len(preview.Steps) != 11 || preview.Steps[0].Outcome == nil || plans != 1 {
		t.Fatalf("%d steps in %d plans, error is %v", len(preview.Steps), plans, preview.Err)
	}
	if failed := c.Preview(t.Context(), web("a"), given(v1alpha1.SyncReviewUntilPlan, `[]`)); failed.Err == nil {
		t.Error("an answer that cannot be read is no error")
	}
	unanswered := given(v1alpha1.SyncReviewUntilPlan, "")
	unanswered.Answer, unanswered.CallHooks = func(hook.Call) ([]byte, error) { return nil, nil }, false
	if missing := c.Preview(t.Context(), web("a"), unanswered); missing.Planned {
		t.Error("without an answer, there is a plan")
	}
	if c.parents.get(web("a")) != state || state.noOp != noOp {
		t.Errorf("what the next sync knows was %+v, and is %+v", noOp, state.noOp)
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
	if c.Preview(t.Context(), web("b"), allowed(v1alpha1.SyncReviewUntilPlan)).Err == nil {
		t.Error("a parent that does not exist was previewed")
	}
	absent := &GivenParent{Object: snapshotOf("b").Parent}
	if preview := c.PreviewAs(t.Context(), absent, allowed(v1alpha1.SyncReviewUntilRequest)); preview.Err != nil || len(preview.Calls) != 1 || c.parents.find(web("b")) != nil {
		t.Errorf("a parent that is not there yet: %d calls, error is %v, remembered is it: %v", len(preview.Calls), preview.Err, c.parents.find(web("b")) != nil)
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
	preview := c.Preview(ctx, web("a"), allowed(v1alpha1.SyncReviewUntilPlan))
	if preview.Err == nil || preview.Err.Error() != "a sync of the parent is under way, or the caches do not show yet what it wrote: time is up" || len(preview.Calls) > 0 {
		t.Errorf("error is %v after %d calls", preview.Err, len(preview.Calls))
	}
	time.AfterFunc(3*recallInterval, state.mu.Unlock)
	if preview := c.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan)); preview.Err != nil || !preview.Planned {
		t.Errorf("after the sync: planned is %v, error is %v", preview.Planned, preview.Err)
	}
}

func TestAPanicIsTheErrorOfOnePreview(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	good := c.spec.Kind.Plan
	c.spec.Kind.Plan = func(*pipeline.Snapshot, *pipeline.Response, plan.Strategies, *plan.UpToDateCache) (*pipeline.Plan, error) {
		panic("broken")
	}
	if preview := c.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan)); preview.Err == nil || !strings.Contains(preview.Err.Error(), "broken") {
		t.Errorf("error is %v", preview.Err)
	}
	c.spec.Kind.Plan = good
	if preview := c.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilPlan)); preview.Err != nil || !preview.Planned {
		t.Errorf("planned is %v, error is %v", preview.Planned, preview.Err)
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
	preview := c.Preview(t.Context(), web("a"), options)
	if !errors.Is(preview.Refusal, refused) || called || len(preview.Steps) > 0 {
		t.Errorf("refusal is %v, the hook was called: %v, steps are %v", preview.Refusal, called, preview.Steps)
	}
}
