// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

func TestWhichAnswerIsGivenToACall(t *testing.T) {
	parent := &object.Object{TypeMeta: metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	call := func(name, revision string) hook.Call {
		about := &pipeline.Snapshot{Parent: parent, Revision: revision}
		if revision != "" {
			about.Present = parent
		}
		return hook.Call{Hook: name, Snapshot: about, Request: []byte("{}")}
	}
	all := &v1alpha1.SyncReviewSpec{
		Response: &runtime.RawExtension{Raw: []byte(`{"the":"response"}`)},
		Responses: []v1alpha1.SyncReviewResponse{
			{Hook: "customize", Response: runtime.RawExtension{Raw: []byte(`{"customize":1}`)}},
			{Hook: "customize", Response: runtime.RawExtension{Raw: []byte(`{"customize":2}`)}},
			{Hook: "sync", Revision: "r-1", Response: runtime.RawExtension{Raw: []byte(`{"revision":1}`)}},
			{Hook: "finalize", Parent: &v1alpha1.SyncReviewParent{Namespace: "default", Name: "b"}, Response: runtime.RawExtension{Raw: []byte(`{"parent":"b"}`)}},
			{Hook: "finalize", Parent: &v1alpha1.SyncReviewParent{Kind: "Web", Namespace: "default", Name: "a"}, Response: runtime.RawExtension{Raw: []byte(`{"parent":"a"}`)}},
		},
	}
	for name, test := range map[string]struct {
		spec *v1alpha1.SyncReviewSpec
		call hook.Call
		want string
	}{
		"response is for the parent as it is":                 {all, call("sync", ""), `{"the":"response"}`},
		"response is not for an earlier version":              {all, call("sync", "r-2"), ""},
		"responses may be for an earlier version":             {all, call("sync", "r-1"), `{"revision":1}`},
		"the first that fits is taken":                        {all, call("customize", ""), `{"customize":1}`},
		"responses may be for one parent, and come first":     {all, call("finalize", ""), `{"parent":"a"}`},
		"response is not for the customize hook":              {&v1alpha1.SyncReviewSpec{Response: all.Response}, call("customize", ""), ""},
		"response is for the finalize hook, if that decides":  {&v1alpha1.SyncReviewSpec{Response: all.Response}, call("finalize", ""), `{"the":"response"}`},
		"without answers, the hook is asked or it is missing": {&v1alpha1.SyncReviewSpec{}, call("sync", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := underReview()
			r.spec = test.spec
			if got, err := r.newSync(nil).answer(test.call); string(got) != test.want || err != nil {
				t.Errorf("the answer is %s, want %s; error is %v", got, test.want, err)
			}
		})
	}
}

// A digest is that of a request of this process. An answer with others would be planned as if they were values.
func TestAnAnswerToAnotherRequestIsNoAnswer(t *testing.T) {
	const request = `{"related":{"Secret.v1":{"s":{"apiVersion":"v1","data":{"password":"b3BlbiBzZXNhbWU="},"kind":"Secret"}}}}`
	call := hook.Call{Hook: "sync", Request: []byte(request), Snapshot: &pipeline.Snapshot{Parent: &object.Object{}}}
	here, elsewhere := underReview(), underReview()
	shown := string(here.newSync(nil).json([]byte(request)).Raw)
	for _, one := range []*reviewing{here, elsewhere} {
		one.spec = &v1alpha1.SyncReviewSpec{Response: &runtime.RawExtension{Raw: []byte(shown)}}
	}
	if answer, err := here.newSync(nil).answer(call); string(answer) != request || err != nil {
		t.Errorf("the answer is %s, error is %v", answer, err)
	}
	if answer, err := elsewhere.newSync(nil).answer(call); answer != nil || !errors.Is(err, errOldDigests) {
		t.Errorf("another replica takes the answer %s, error is %v", answer, err)
	}
}

// creation is a step that creates a ConfigMap. In a dry run, that has an outcome.
func creation(outcome v1alpha1.ReviewedOutcome) v1alpha1.ReviewedStep {
	step := v1alpha1.ReviewedStep{Operation: v1alpha1.ReviewedCreate, ReviewedObject: v1alpha1.ReviewedObject{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}}
	if outcome != "" {
		step.DryRun = &v1alpha1.ReviewedDryRun{Outcome: outcome}
	}
	return step
}

func TestTheResultOfASync(t *testing.T) {
	postponed := creation("")
	postponed.Postponed = true
	for name, test := range map[string]struct {
		sync    v1alpha1.ReviewedSync
		planned bool
		want    v1alpha1.ReviewedResult
	}{
		"no steps":                            {planned: true, want: v1alpha1.ReviewedUnchanged},
		"a step":                              {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{creation("")}}, planned: true, want: v1alpha1.ReviewedChanged},
		"a step that is postponed":            {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{postponed}}, planned: true, want: v1alpha1.ReviewedUnchanged},
		"a step that the host accepts":        {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{creation(v1alpha1.ReviewedAccepted)}}, planned: true, want: v1alpha1.ReviewedChanged},
		"a step that changes nothing":         {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{creation(v1alpha1.ReviewedChangesNothing)}}, planned: true, want: v1alpha1.ReviewedUnchanged},
		"a step that was not sent":            {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{creation(v1alpha1.ReviewedNotSent)}}, planned: true, want: v1alpha1.ReviewedChanged},
		"a step that the host refuses":        {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{creation(v1alpha1.ReviewedRefused)}}, planned: true, want: v1alpha1.ReviewedFailed},
		"a child that the plan leaves out":    {sync: v1alpha1.ReviewedSync{Refused: []string{"no"}}, planned: true, want: v1alpha1.ReviewedFailed},
		"an error":                            {sync: v1alpha1.ReviewedSync{Error: "no"}, want: v1alpha1.ReviewedFailed},
		"an end before the plan":              {want: v1alpha1.ReviewedUndecided},
		"an end before the plan, after steps": {sync: v1alpha1.ReviewedSync{Steps: []v1alpha1.ReviewedStep{creation("")}}, want: v1alpha1.ReviewedUndecided},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resultOf(&test.sync, &preview.Preview{Planned: test.planned}); got != test.want {
				t.Errorf("result is %s, want %s", got, test.want)
			}
		})
	}
}

func TestASummaryCountsParentsAndWrites(t *testing.T) {
	status := creation("")
	status.Operation, status.Kind = v1alpha1.ReviewedUpdateStatus, "Web"
	var summary v1alpha1.SyncReviewSummary
	for _, sync := range []v1alpha1.ReviewedSync{
		{Result: v1alpha1.ReviewedChanged, Steps: []v1alpha1.ReviewedStep{creation(""), creation(""), status}},
		{Result: v1alpha1.ReviewedChanged, Steps: []v1alpha1.ReviewedStep{creation(""), creation(v1alpha1.ReviewedChangesNothing)}},
		{Result: v1alpha1.ReviewedUnchanged}, {Result: v1alpha1.ReviewedFailed}, {Result: v1alpha1.ReviewedUndecided},
	} {
		count(&summary, &sync)
	}
	want := v1alpha1.SyncReviewSummary{Parents: 5, Changed: 2, Unchanged: 1, Failed: 1, Undecided: 1, Steps: []v1alpha1.ReviewedStepCount{
		{Operation: v1alpha1.ReviewedCreate, APIVersion: "v1", Kind: "ConfigMap", Count: 3},
		{Operation: v1alpha1.ReviewedUpdateStatus, APIVersion: "v1", Kind: "Web", Count: 1},
	}}
	if diff := cmp.Diff(want, summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestTheOutcomeOfADryRun(t *testing.T) {
	is := func(hash uint64, more string) *object.Object {
		o, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}` + more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		o.Hash = hash
		return o
	}
	of := func(op pipeline.Op, before, after *object.Object) pipeline.Outcome {
		return pipeline.Outcome{Step: pipeline.Step{Op: op, Observed: before}, Result: after}
	}
	for name, test := range map[string]struct {
		outcome pipeline.Outcome
		want    v1alpha1.ReviewedDryRun
	}{
		"a child is created": {of(pipeline.Create, nil, is(1, "")),
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}},
		"a child is updated": {of(pipeline.Update, is(1, ""), is(2, "")),
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}},
		"an update leaves a child as it is": {of(pipeline.Update, is(1, ""), is(1, "")),
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedChangesNothing}},
		"an apply leaves a child as it is": {of(pipeline.Apply, is(1, ""), is(1, "")),
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedChangesNothing}},
		"a status is replaced": {of(pipeline.Status, is(1, `,"status":{"n":1}`), is(1, `,"status":{"n":2}`)),
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}},
		"a status stays": {of(pipeline.Status, is(1, `,"status":{"n":1}`), is(1, `,"status":{"n":1}`)),
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedChangesNothing}},
		"the host refuses": {pipeline.Outcome{Err: errors.New("quota")},
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedRefused, Message: "quota"}},
		"the name is taken": {pipeline.Outcome{NameConflict: true},
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedRefused, Message: "an object with this name exists and does " +
				"not belong to the parent"}},
		"the child has changed meanwhile": {pipeline.Outcome{Conflict: true},
			v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedConflict, Message: "it has changed since it was observed"}},
		"the step found that nothing is to do":   {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Keep, Why: "it is gone"}}, v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedChangesNothing, Message: "it is gone"}},
		"the host warns":                         {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Create}, Warnings: []string{"old"}}, v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted, Warnings: []string{"old"}}},
		"a child is deleted that had no result":  {of(pipeline.Delete, is(1, ""), nil), v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}},
		"an object is adopted, with its content": {of(pipeline.Adopt, is(1, ""), is(1, "")), v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&test.want, underReview().newSync(nil).outcome(&test.outcome)); diff != "" {
				t.Errorf("dry run (-want +got):\n%s", diff)
			}
		})
	}
}
