// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestRequests(t *testing.T) {
	const json, mergePatch = "application/json", "application/merge-patch+json"
	cluster := pipeline.Step{Op: pipeline.Create, Type: namespaces, Name: "a", Body: []byte(`{}`)}
	grouped := pipeline.Step{Op: pipeline.Update, Type: deployments, Namespace: "default", Name: "a", Body: []byte(`{}`)}
	noSubresource := step(t, pipeline.Status, "shop")
	noSubresource.Type.StatusSubresource = false
	const deleteA = `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-of-a"},"propagationPolicy":"Background"}`
	tests := map[string]struct {
		step pipeline.Step
		want []request
	}{
		"create":                                {step(t, pipeline.Create, "a"), []request{{"POST", "/api/v1/namespaces/default/configmaps?fieldManager=metacontroller", json, `{"a":"a"}`}}},
		"create outside namespaces":             {cluster, []request{{"POST", "/api/v1/namespaces?fieldManager=metacontroller", json, `{}`}}},
		"update":                                {step(t, pipeline.Update, "a"), []request{{"PUT", "/api/v1/namespaces/default/configmaps/a?fieldManager=metacontroller", json, `{"a":"a"}`}}},
		"update of a type with a group":         {grouped, []request{{"PUT", "/apis/apps/v1/namespaces/default/deployments/a?fieldManager=metacontroller", json, `{}`}}},
		"delete":                                {step(t, pipeline.Delete, "a"), []request{{"DELETE", "/api/v1/namespaces/default/configmaps/a", json, deleteA}}},
		"release":                               {step(t, pipeline.Release, "a"), []request{{"PATCH", "/api/v1/namespaces/default/configmaps/a?fieldManager=metacontroller", mergePatch, `{"a":"a"}`}}},
		"status":                                {step(t, pipeline.Status, "shop"), []request{{"PUT", "/apis/ctl.example/v1/namespaces/default/webs/shop/status?fieldManager=metacontroller", json, `{"a":"shop"}`}}},
		"status of a type without the resource": {noSubresource, []request{{"PUT", "/apis/ctl.example/v1/namespaces/default/webs/shop?fieldManager=metacontroller", json, `{"a":"shop"}`}}},
		"keep asks nothing":                     {step(t, pipeline.Keep, "a"), nil},
		"recreate asks for the creation first": {step(t, pipeline.Recreate, "a"), []request{
			{"POST", "/api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=metacontroller", json, `{"a":"a"}`},
			{"DELETE", "/api/v1/namespaces/default/configmaps/a", json, deleteA},
		}},
		"adopt asks for the parent first": {step(t, pipeline.Adopt, "a"), []request{
			{"GET", "/apis/ctl.example/v1/namespaces/default/webs/shop", "", ""},
			{"PATCH", "/api/v1/namespaces/default/configmaps/a?fieldManager=metacontroller", mergePatch, `{"a":"a"}`},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, nil)
			outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{test.step}})
			if diff := cmp.Diff(test.want, api.requests, cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			for _, outcome := range outcomes {
				stores := test.step.Op != pipeline.Delete && test.step.Op != pipeline.Recreate
				if outcome.Err != nil || outcome.NameConflict || (outcome.Result != nil) != stores || outcome.Op != test.step.Op {
					t.Errorf("outcome is %+v", outcome)
				}
			}
			if (len(outcomes) == 1) != test.step.Op.Writes() {
				t.Errorf("there are %d outcomes", len(outcomes))
			}
		})
	}
}

func TestTheResultIsWhatTheHostStored(t *testing.T) {
	_, actor := serve(t, nil)
	outcome := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a")}})[0]
	if outcome.Result == nil || outcome.Result.Name != "stored" || outcome.Result.ResourceVersion != "9" {
		t.Errorf("the result is %v", outcome.Result)
	}
}

// However the plan orders its steps: claims, then deletions, then the rest, then the
// status; one phase ends before the next begins.
func TestPhases(t *testing.T) {
	var mu sync.Mutex
	phaseOf := map[string]int{"PATCH": 0, "DELETE": 1, "POST": 2, "PUT": 2}
	underWay := map[int]int{}
	var order []int
	api, actor := serve(t, func(asked request) (int, string) {
		phase := phaseOf[asked.method]
		if strings.Contains(asked.url, "/status") {
			phase = 3
		}
		if asked.method == "GET" || strings.Contains(asked.url, "dryRun") {
			return succeed(asked)
		}
		mu.Lock()
		underWay[phase]++
		for other, count := range underWay {
			if other != phase && count > 0 {
				t.Errorf("a step of phase %d is taken while one of phase %d is under way", phase, other)
			}
		}
		order = append(order, phase)
		mu.Unlock()
		status, body := succeed(asked)
		mu.Lock()
		underWay[phase]--
		mu.Unlock()
		return status, body
	})
	plan := &pipeline.Plan{Steps: []pipeline.Step{
		step(t, pipeline.Status, "shop"), step(t, pipeline.Update, "u"), step(t, pipeline.Delete, "d"), step(t, pipeline.Adopt, "a"), step(t, pipeline.Keep, "k"),
		step(t, pipeline.Create, "c"), step(t, pipeline.Recreate, "r"), step(t, pipeline.Release, "l"), step(t, pipeline.Create, "c2"), step(t, pipeline.Delete, "d2"),
	}}
	outcomes := actor.Act(t.Context(), snapshot(t), plan)
	if !slices.IsSorted(order) || len(order) != 9 {
		t.Errorf("the phases were %v in %v", order, api.seen())
	}
	var ops []pipeline.Op
	for _, outcome := range outcomes {
		ops = append(ops, outcome.Op)
	}
	want := []pipeline.Op{pipeline.Adopt, pipeline.Release, pipeline.Delete, pipeline.Recreate, pipeline.Delete, pipeline.Update, pipeline.Create, pipeline.Create, pipeline.Status}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestStepsOfAPhaseAreTakenInParallelWithinBounds(t *testing.T) {
	tests := map[string]struct{ ofSync, ofProcess, want int }{
		"the bound of a sync":      {3, 100, 3},
		"the share of the process": {10, 4, 2},
		"one at a time":            {1, 100, 1},
		"as many as there may be":  {10, 100, 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			underWay, most := 0, 0
			entered, release := make(chan struct{}, 8), make(chan struct{})
			api, actor := serve(t, func(asked request) (int, string) {
				mu.Lock()
				underWay++
				most = max(most, underWay)
				mu.Unlock()
				entered <- struct{}{}
				<-release
				mu.Lock()
				underWay--
				mu.Unlock()
				return succeed(asked)
			})
			actor.Parallel = test.ofSync
			actor.Writer = host.NewWriter(api.client, test.ofProcess)
			var plan pipeline.Plan
			for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				plan.Steps = append(plan.Steps, step(t, pipeline.Create, name))
			}
			done := make(chan []pipeline.Outcome)
			go func() { done <- actor.Act(t.Context(), snapshot(t), &plan) }()
			for range test.want {
				<-entered // so many are under way at once
			}
			close(release)
			for _, outcome := range <-done {
				if outcome.Err != nil {
					t.Error(outcome.Err)
				}
			}
			if most != test.want {
				t.Errorf("%d steps were under way at once, want %d", most, test.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	const noMatter = "the object has been modified"
	tests := map[string]struct {
		op     pipeline.Op
		code   int
		reason metav1.StatusReason
		err    string // "" if it is none
		taken  bool
	}{
		"create, the name is taken":      {op: pipeline.Create, code: 409, reason: metav1.StatusReasonAlreadyExists, taken: true},
		"create, the namespace is gone":  {op: pipeline.Create, code: 404, reason: metav1.StatusReasonNotFound, err: "can't create ConfigMap default/a: " + noMatter},
		"create, refused":                {op: pipeline.Create, code: 422, reason: metav1.StatusReasonInvalid, err: "can't create ConfigMap default/a: " + noMatter},
		"create, forbidden":              {op: pipeline.Create, code: 403, reason: metav1.StatusReasonForbidden, err: "can't create ConfigMap default/a: " + noMatter},
		"update, changed meanwhile":      {op: pipeline.Update, code: 409, reason: metav1.StatusReasonConflict},
		"update, gone meanwhile":         {op: pipeline.Update, code: 404, reason: metav1.StatusReasonNotFound},
		"update, refused":                {op: pipeline.Update, code: 422, reason: metav1.StatusReasonInvalid, err: "can't update ConfigMap default/a: " + noMatter},
		"update, the cluster is broken":  {op: pipeline.Update, code: 500, reason: metav1.StatusReasonInternalError, err: "can't update ConfigMap default/a: " + noMatter},
		"delete, replaced meanwhile":     {op: pipeline.Delete, code: 409, reason: metav1.StatusReasonConflict},
		"delete, gone meanwhile":         {op: pipeline.Delete, code: 404, reason: metav1.StatusReasonNotFound},
		"delete, forbidden":              {op: pipeline.Delete, code: 403, reason: metav1.StatusReasonForbidden, err: "can't delete ConfigMap default/a: " + noMatter},
		"recreate, gone meanwhile":       {op: pipeline.Recreate, code: 404, reason: metav1.StatusReasonNotFound},
		"adopt, changed meanwhile":       {op: pipeline.Adopt, code: 409, reason: metav1.StatusReasonConflict},
		"adopt, gone meanwhile":          {op: pipeline.Adopt, code: 404, reason: metav1.StatusReasonNotFound},
		"adopt, refused":                 {op: pipeline.Adopt, code: 422, reason: metav1.StatusReasonInvalid, err: "can't adopt ConfigMap default/a: " + noMatter},
		"release, changed meanwhile":     {op: pipeline.Release, code: 409, reason: metav1.StatusReasonConflict},
		"release, gone meanwhile":        {op: pipeline.Release, code: 404, reason: metav1.StatusReasonNotFound},
		"status, the parent has changed": {op: pipeline.Status, code: 409, reason: metav1.StatusReasonConflict},
		"status, the parent is gone":     {op: pipeline.Status, code: 404, reason: metav1.StatusReasonNotFound},
		"status, refused":                {op: pipeline.Status, code: 422, reason: metav1.StatusReasonInvalid, err: "can't update status for Web default/shop: " + noMatter},
		"recreate, forbidden": {
			op: pipeline.Recreate, code: 403, reason: metav1.StatusReasonForbidden,
			err: "can't recreate ConfigMap default/a: " + notCreatable + noMatter,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, actor := serve(t, func(asked request) (int, string) {
				if asked.method == "GET" {
					return succeed(asked)
				}
				return test.code, failure(test.code, test.reason, noMatter)
			})
			outcome := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, test.op, "a")}})[0]
			if outcome.Result != nil || outcome.NameConflict != test.taken {
				t.Errorf("result %v, taken %v", outcome.Result, outcome.NameConflict)
			}
			if want := test.err == "" && !test.taken; outcome.Conflict != want {
				t.Errorf("overtaken is %v, want %v", outcome.Conflict, want)
			}
			if got := errorText(outcome.Err); got != test.err {
				t.Errorf("error is %q, want %q", got, test.err)
			}
		})
	}
}

func TestAnAnswerThatIsNoObjectIsAnError(t *testing.T) {
	_, actor := serve(t, func(request) (int, string) { return 200, `<html>` })
	outcome := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a")}})[0]
	if !strings.HasPrefix(errorText(outcome.Err), "can't create ConfigMap default/a: ") {
		t.Errorf("error is %v", outcome.Err)
	}
}

func TestTheOtherStepsAreTakenWhenOneFails(t *testing.T) {
	api, actor := serve(t, func(asked request) (int, string) {
		if strings.Contains(asked.url, "/bad") || strings.Contains(asked.body, "bad") {
			return 403, failure(403, metav1.StatusReasonForbidden, "no")
		}
		return succeed(asked)
	})
	outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{
		step(t, pipeline.Release, "bad"), step(t, pipeline.Delete, "bad"), step(t, pipeline.Delete, "d"), step(t, pipeline.Create, "bad"), step(t, pipeline.Create, "c"), step(t, pipeline.Status, "shop"),
	}})
	var failed []bool
	for _, outcome := range outcomes {
		failed = append(failed, outcome.Err != nil)
	}
	if diff := cmp.Diff([]bool{true, true, false, true, false, false}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if count := len(api.seen()); count != 6 {
		t.Errorf("there were the requests %v", api.seen())
	}
}

func TestAdoptionAsksTheLiveParentOnce(t *testing.T) {
	api, actor := serve(t, nil)
	actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{
		step(t, pipeline.Adopt, "a"), step(t, pipeline.Adopt, "b"), step(t, pipeline.Adopt, "c"), step(t, pipeline.Release, "d"),
	}})
	var gets, patches int
	for _, request := range api.requests {
		switch request.method {
		case "GET":
			gets++
		case "PATCH":
			patches++
		}
	}
	if gets != 1 || patches != 4 {
		t.Errorf("there were %d GETs and %d PATCHes", gets, patches)
	}
	api.requests = nil
	actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Adopt, "a")}})
	if len(api.requests) != 2 {
		t.Errorf("the next sync asks %v, want it to ask for the parent anew", api.seen())
	}
}

func TestNothingIsAdoptedForAParentThatIsNoMore(t *testing.T) {
	tests := map[string]struct {
		code int
		live string
		want string
	}{
		"it is gone":                   {404, failure(404, metav1.StatusReasonNotFound, "no such Web"), "can't adopt children of Web default/shop: no such Web"},
		"it was replaced":              {200, strings.Replace(liveParent, "parent-uid", "other", 1), "can't adopt children of Web default/shop: it was replaced by another object of that name"},
		"it is being deleted":          {200, strings.Replace(liveParent, `"name"`, `"deletionTimestamp":"2026-03-04T05:06:07Z","name"`, 1), "can't adopt children of Web default/shop: it is being deleted"},
		"the cluster does not tell it": {503, failure(503, metav1.StatusReasonServiceUnavailable, "try later"), "can't adopt children of Web default/shop: try later"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, func(asked request) (int, string) {
				if asked.method == "GET" {
					return test.code, test.live
				}
				return succeed(asked)
			})
			outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Adopt, "a"), step(t, pipeline.Adopt, "b"), step(t, pipeline.Create, "c")}})
			for _, outcome := range outcomes[:2] {
				if got := errorText(outcome.Err); got != test.want {
					t.Errorf("error is %q, want %q", got, test.want)
				}
			}
			if outcomes[2].Err != nil {
				t.Errorf("another step failed: %v", outcomes[2].Err)
			}
			if slices.ContainsFunc(api.requests, func(r request) bool { return r.method == "PATCH" }) {
				t.Errorf("there were the requests %v", api.seen())
			}
		})
	}
}

func TestAPanicInAStepIsItsError(t *testing.T) {
	_, actor := serve(t, nil)
	broken := step(t, pipeline.Delete, "a")
	broken.Observed = nil
	outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{broken, step(t, pipeline.Delete, "b")}})
	if got := errorText(outcomes[0].Err); !strings.HasPrefix(got, "can't delete ConfigMap default/a: panic: ") {
		t.Errorf("error is %q", got)
	}
	if outcomes[0].Name != "a" || outcomes[1].Err != nil {
		t.Errorf("outcomes are %+v", outcomes)
	}
}

func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	api, actor := serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, outcome := range actor.Act(ctx, snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a"), step(t, pipeline.Delete, "b"), step(t, pipeline.Status, "shop")}}) {
		if outcome.Err == nil {
			t.Errorf("%s succeeded", outcome.Op)
		}
	}
	if len(api.requests) > 0 {
		t.Errorf("there were the requests %v", api.seen())
	}
}

// A new Op needs a phase and a request of its own.
func TestEveryOpIsCarriedOut(t *testing.T) {
	for _, op := range pipeline.Ops() {
		for name, plan := range map[string]*pipeline.Plan{"composite": {}, "decorator": {ParentFirst: true}} {
			phases := 0
			for _, phase := range phasesOf(plan) {
				if slices.Contains(phase, op) {
					phases++
				}
			}
			if want := map[bool]int{true: 1}[op.Writes()]; phases != want {
				t.Errorf("%s is in %d phases of the plan of a %s, want %d", op, phases, name, want)
			}
		}
		api, actor := serve(t, nil)
		_, err := actor.write(t.Context(), step(t, op, "a"))
		if asks := len(api.seen()) > 0; asks != op.Writes() {
			t.Errorf("that %s sends a request is %v (%v)", op, asks, err)
		}
	}
}

func TestAnOutcomeHasTheWarningsOfItsWrite(t *testing.T) {
	tests := map[string]struct {
		step pipeline.Step
		want []string
	}{
		"a new child":       {step(t, pipeline.Create, "a"), []string{"it is old"}},
		"an existing child": {step(t, pipeline.Update, "a"), []string{"it is old"}},
		"an applied child":  {step(t, pipeline.Apply, "a"), []string{"it is old"}},
		"the status":        {step(t, pipeline.Status, ""), []string{"it is old"}},
		"no write of a child that a dry run leaves alone": {func() pipeline.Step {
			s := step(t, pipeline.Recreate, "a")
			s.Observed = parsed(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stored","uid":"u","resourceVersion":"9"}}`)
			s.Name, s.Body, s.Successor = "stored", []byte(`{}`), nil
			return s
		}(), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, nil)
			api.warning = "it is old"
			outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{test.step}})
			if len(outcomes) != 1 || outcomes[0].Err != nil || !slices.Equal(outcomes[0].Warnings, test.want) {
				t.Errorf("outcomes are %+v after %q, want the warnings %q", outcomes, api.seen(), test.want)
			}
		})
	}
}
