// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// condition is what a condition says, "False UnknownType: no such type".
type conditions struct{ ready, stalled, reachable string }

func conditionsOf(t *testing.T, status v1alpha1.ControllerStatus) conditions {
	t.Helper()
	words := map[string]string{}
	for _, condition := range status.Conditions {
		words[condition.Type] = string(condition.Status) + " " + condition.Reason + ": " + condition.Message
		if condition.LastTransitionTime.IsZero() || condition.ObservedGeneration != status.ObservedGeneration {
			t.Errorf("condition %s is of generation %d and time %s", condition.Type, condition.ObservedGeneration, condition.LastTransitionTime)
		}
	}
	if len(words) != len(status.Conditions) || len(words) < 4 || len(words) > 6 {
		t.Errorf("conditions are %v", status.Conditions)
	}
	return conditions{words[v1alpha1.ConditionReady], words[v1alpha1.ConditionStalled], words[v1alpha1.ConditionHooksReachable]}
}

func TestConditions(t *testing.T) {
	const (
		runs     = "True Running: the controller runs with its current spec"
		answered = "True Answered: the hooks answered their last calls"
		uncalled = "Unknown NotCalledYet: the server has not called a hook yet"
	)
	tests := map[string]struct {
		health  *Health
		problem *Problem
		want    conditions
	}{
		"it runs and its hook answers": {
			health: &Health{HookCalled: true},
			want:   conditions{runs, "", answered},
		},
		"what was created with it may still help": {
			problem: &Problem{Reason: v1alpha1.ReasonUnknownType, Err: errors.New("no such type"), Since: time.Now()},
			want:    conditions{"False UnknownType: no such type", "", uncalled},
		},
		"it runs, and its first sync has not ended": {
			health: &Health{Total: 1},
			want:   conditions{"Unknown NotSyncedYet: the controller runs, and has not synced a parent yet", "", uncalled},
		},
		"its first parent fails, and another one was not tried": {
			health: &Health{Total: 2, Failing: 1},
			want:   conditions{"Unknown NotSyncedYet: the controller runs, and has not synced a parent yet", "", uncalled},
		},
		"its parents are not counted": {
			health: &Health{Uncounted: true},
			want:   conditions{"Unknown NotSyncedYet: the controller runs, and has not synced a parent yet", "", uncalled},
		},
		"it is paused": {health: &Health{Total: 1, AllPaused: true}, want: conditions{runs, "", uncalled}},
		"all its parents are paused": {
			health: &Health{Total: 2, Paused: 2}, want: conditions{runs, "", uncalled},
		},
		"one of its parents fails": {health: &Health{Total: 2, Synced: 1, Failing: 1}, want: conditions{runs, "", uncalled}},
		"all its parents that are not paused fail": {
			health: &Health{Total: 2, Failing: 1, Paused: 1, Failure: &ParentError{Parent: shop, Message: "no"}},
			want: conditions{
				"False AllParentsFailing: no parent is in its desired state: Web default/shop: no (1 of 2 parents)", "", uncalled,
			},
		},
		"it runs and has no parents yet": {
			health: &Health{},
			want:   conditions{runs, "", uncalled},
		},
		"its hook does not answer": {
			health: &Health{HookCalled: true, HookError: "connection refused"},
			want:   conditions{runs, "", "False CallFailed: connection refused"},
		},
		"its hook does not answer, called with stale credentials": {
			health: &Health{HookCalled: true, HookError: "connection refused", StaleCredentials: "Secret is gone"},
			want: conditions{
				runs, "", "False CallFailed: connection refused; the server still uses the last valid credentials: Secret is gone",
			},
		},
		"its hook is down": {
			health:  &Health{HookCalled: true, HookError: "about Web default/shop: connection refused"},
			problem: &Problem{Reason: v1alpha1.ReasonHookDown, Err: errors.New("connection refused")},
			want:    conditions{"False HookDown: connection refused", "", "False CallFailed: about Web default/shop: connection refused"},
		},
		"the cluster does not let a type be watched any more": {
			health:  &Health{HookCalled: true},
			problem: &Problem{Reason: v1alpha1.ReasonWatchFailed, Err: errors.New("forbidden")},
			want:    conditions{"False WatchFailed: forbidden", "", answered},
		},
		"its hook is called with stale credentials": {
			health: &Health{HookCalled: true, StaleCredentials: "Secret is gone"},
			want: conditions{
				runs, "", "True CredentialsStale: the hooks answered their last calls, but the server still uses the last " +
					"valid credentials: Secret is gone",
			},
		},
		"credentials are missing": {
			problem: &Problem{Reason: v1alpha1.ReasonCredentials, Err: errors.New("Secret is gone")},
			want:    conditions{"False CredentialsMissing: Secret is gone", "True CredentialsMissing: Secret is gone", uncalled},
		},
		"its spec cannot be run": {
			problem: &Problem{Reason: v1alpha1.ReasonInvalidSpec, Err: errors.New("no hooks defined")},
			want:    conditions{"False InvalidSpec: no hooks defined", "True InvalidSpec: no hooks defined", uncalled},
		},
		"its new spec cannot be run and the old one is": {
			health: &Health{HookCalled: true}, problem: &Problem{Reason: v1alpha1.ReasonInvalidSpec, Err: errors.New("no hooks defined"), RunningGeneration: 1},
			want: conditions{
				"False InvalidSpec: no hooks defined (the controller still runs with its last working spec)",
				"True InvalidSpec: no hooks defined (the controller still runs with its last working spec)", answered,
			},
		},
		"a type is not there": {
			problem: &Problem{Reason: v1alpha1.ReasonUnknownType, Err: errors.New("no such type")},
			want:    conditions{"False UnknownType: no such type", "True UnknownType: no such type", uncalled},
		},
		"the parents have no status": {
			problem: &Problem{Reason: v1alpha1.ReasonNoStatus, Err: errors.New("no status")},
			want:    conditions{"False NoStatusSubresource: no status", "True NoStatusSubresource: no status", uncalled},
		},
		"the cluster does not answer": {
			problem: &Problem{Reason: v1alpha1.ReasonClusterUnreachable, Err: errors.New("timed out")},
			want:    conditions{"False ClusterUnreachable: timed out", "", uncalled},
		},
		"a long error is shortened": {
			problem: &Problem{Reason: v1alpha1.ReasonUnknownType, Err: errors.New(strings.Repeat("ü", 5000))},
			want: conditions{
				"False UnknownType: " + strings.Repeat("ü", 2046) + "…",
				"True UnknownType: " + strings.Repeat("ü", 2046) + "…",
				uncalled,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := Status(v1alpha1.ControllerStatus{}, 4, test.health, test.problem)
			if status.ObservedGeneration != 4 || status.RunningGeneration != test.problem.runningGeneration() {
				t.Errorf("the generation is %d, and that of what runs is %d", status.ObservedGeneration, status.RunningGeneration)
			}
			if diff := cmp.Diff(test.want, conditionsOf(t, status), cmp.AllowUnexported(conditions{})); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if (status.Parents != nil) != (test.health != nil && !test.health.Uncounted) {
				t.Errorf("parents are %v", status.Parents)
			}
		})
	}
}

func TestCountsAndTheLastError(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 800_000_000, time.UTC)
	health := &Health{Total: 5, Synced: 3, Failing: 1, LastError: &ParentError{
		Parent: shop, Message: strings.Repeat("x", 5000), Time: at,
	}}
	status := Status(v1alpha1.ControllerStatus{}, 1, health, nil)
	if diff := cmp.Diff(&v1alpha1.ParentCounts{Total: 5, Synced: 3, Failing: 1}, status.Parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	want := &v1alpha1.LastSyncError{
		Parent:  "default/shop",
		Kind:    "Web",
		Message: strings.Repeat("x", MaxMessage-len("…")) + "…",
		Time:    metav1.NewTime(at.Truncate(time.Second)),
	}
	if diff := cmp.Diff(want, status.LastError); diff != "" {
		t.Errorf("last error (-want +got):\n%s", diff)
	}
}

func TestTheLastErrorSaysSinceWhenItIsOver(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 800_000_000, time.UTC)
	last := &ParentError{Parent: shop, Message: "no", Time: at, Recovered: at.Add(time.Minute)}
	status := Status(v1alpha1.ControllerStatus{}, 1, &Health{LastError: last}, nil)
	if got := status.LastError.Recovered; got == nil || !got.Time.Equal(at.Add(time.Minute).Truncate(time.Second)) {
		t.Errorf("it is over since %v", got)
	}
}

func TestTheParentOfTheLastErrorMayBeClusterScoped(t *testing.T) {
	status := Status(v1alpha1.ControllerStatus{}, 1, &Health{LastError: &ParentError{Parent: key("Fleet", "", "fleet"), Message: "x"}}, nil)
	if status.LastError.Parent != "fleet" {
		t.Errorf("the parent is %q", status.LastError.Parent)
	}
}

func TestWhatTheStatusHadBefore(t *testing.T) {
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	before := v1alpha1.ControllerStatus{
		ObservedGeneration: 1,
		Conditions: []metav1.Condition{
			{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: long},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Old", LastTransitionTime: long},
			{Type: "ResourcesFound", Status: metav1.ConditionTrue, Reason: "Found", LastTransitionTime: long},
			{Type: "FieldsKnown", Status: metav1.ConditionTrue, Reason: "AllKept", LastTransitionTime: long},
			{Type: "ChildrenAsMeant", Status: metav1.ConditionTrue, Reason: "NoneWarned", LastTransitionTime: long},
			{Type: "Stable", Status: metav1.ConditionTrue, Reason: "Quiet", LastTransitionTime: long},
			{Type: "ServiceAccountSet", Status: metav1.ConditionFalse, Reason: "ActsAsServer", LastTransitionTime: long},
		},
		Parents:   &v1alpha1.ParentCounts{Total: 9},
		LastError: &v1alpha1.LastSyncError{Message: "long ago", Time: long},
	}
	kept := before.DeepCopy()
	after := Status(before, 2, nil, &Problem{Reason: v1alpha1.ReasonClusterUnreachable, Err: errors.New("timed out")})
	if diff := cmp.Diff(*kept, before); diff != "" {
		t.Errorf("the status before was changed (-want +got):\n%s", diff)
	}
	times := map[string]bool{}
	for _, condition := range after.Conditions {
		times[condition.Type] = condition.LastTransitionTime.Equal(&long)
	}
	want := map[string]bool{
		"Theirs": true, v1alpha1.ConditionReady: false, v1alpha1.ConditionHooksReachable: false,
		v1alpha1.ConditionParentsSynced: false, v1alpha1.ConditionWarnings: false,
	}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("conditions that kept their time (-want +got):\n%s", diff)
	}
	if after.Parents != nil {
		t.Errorf("of a controller that does not run, the parents are %v", after.Parents)
	}
	if after.LastError == nil || after.LastError.Message != "long ago" {
		t.Errorf("the last error is %v, want it to stay", after.LastError)
	}
	again := Status(after, 2, nil, &Problem{Reason: v1alpha1.ReasonClusterUnreachable, Err: errors.New("timed out")})
	if diff := cmp.Diff(after, again); diff != "" {
		t.Errorf("without news the status changes (-before +after):\n%s", diff)
	}
}

// A server that is started again says nothing new until it knows more than before.
func TestOfHooksThatWereNotCalledYetTheStatusSaysWhatItDid(t *testing.T) {
	refused := &Health{HookCalled: true, HookError: "connection refused", Total: 1, Failing: 1}
	before := Status(v1alpha1.ControllerStatus{}, 1, refused, nil)
	for name, test := range map[string]struct {
		generation int64
		health     *Health
		want       string
	}{
		"they were not called yet":       {1, &Health{Total: 1}, "False CallFailed: connection refused"},
		"they were":                      {1, &Health{Total: 1, HookCalled: true}, "True Answered: the hooks answered their last calls"},
		"they are those of another spec": {2, &Health{Total: 1}, "Unknown NotCalledYet: the server has not called a hook yet"},
		"the controller does not run":    {1, nil, "Unknown NotCalledYet: the server has not called a hook yet"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := conditionsOf(t, Status(before, test.generation, test.health, nil)).reachable; got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestReadyIsUpToDate(t *testing.T) {
	problem := func(reason, message string) *Problem { return &Problem{Reason: reason, Err: errors.New(message)} }
	broken := func(message string) *Problem { return problem(v1alpha1.ReasonInvalidSpec, message) }
	tests := map[string]struct {
		generation    int64
		health        *Health
		before, after *Problem
		want          bool
	}{
		"the same":                      {1, &Health{}, nil, nil, true},
		"counts and hooks do not count": {1, &Health{Total: 5, HookCalled: true}, nil, nil, true},
		"another generation":            {2, &Health{}, nil, nil, false},
		"all parents fail":              {1, &Health{Total: 1, Failing: 1}, nil, nil, true},
		"no parent is synced yet":       {1, &Health{Total: 1}, nil, nil, true},
		"it has become stalled":         {1, nil, &Problem{Reason: v1alpha1.ReasonUnknownType, Err: errors.New("x"), Since: time.Now()}, &Problem{Reason: v1alpha1.ReasonUnknownType, Err: errors.New("x")}, false},
		"no longer ready":               {1, &Health{}, nil, broken("x"), false},
		"ready again":                   {1, nil, broken("x"), nil, false},
		"not ready for another reason":  {1, nil, broken("x"), broken("y"), false},
		"not ready for the same reason": {1, nil, broken("x"), broken("x"), true},
		"down, from another port":       {1, nil, problem(v1alpha1.ReasonHookDown, "read tcp 10.0.0.1:4001: reset"), problem(v1alpha1.ReasonHookDown, "read tcp 10.0.0.1:4002: reset"), true},
		"down in another way":           {1, nil, problem(v1alpha1.ReasonHookDown, "reset"), problem(v1alpha1.ReasonWatchFailed, "reset"), false},
		"a still older spec runs":       {1, nil, &Problem{Reason: v1alpha1.ReasonHookDown, Err: errors.New("x"), RunningGeneration: 2}, &Problem{Reason: v1alpha1.ReasonHookDown, Err: errors.New("x"), RunningGeneration: 1}, false},
		"an older spec runs instead":    {1, nil, broken("x"), &Problem{Reason: v1alpha1.ReasonInvalidSpec, Err: errors.New("x"), RunningGeneration: 1}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			said := Status(v1alpha1.ControllerStatus{}, 1, test.health, test.before)
			if got := ReadyIsUpToDate(&said, test.generation, test.after); got != test.want {
				t.Errorf("it says so: %v, want %v", got, test.want)
			}
		})
	}
	if ReadyIsUpToDate(&v1alpha1.ControllerStatus{ObservedGeneration: 1}, 1, nil) {
		t.Error("an empty status says that the controller is ready")
	}
	said := Status(v1alpha1.ControllerStatus{}, 1, &Health{}, nil)
	if allocations := testing.AllocsPerRun(10, func() { ReadyIsUpToDate(&said, 1, nil) }); allocations > 2 {
		t.Errorf("it takes %.0f allocations to see that nothing is new", allocations)
	}
}

func TestWhenHooksReachableStaysAfterARestart(t *testing.T) {
	down := &Health{Total: 1, HookCalled: true, HookError: "about Web default/a: connection refused"}
	for name, test := range map[string]struct {
		before, after *Health
		want          string
	}{
		"while its parent may exist":           {down, &Health{Uncounted: true}, "CallFailed"},
		"until a hook is called":               {down, &Health{Total: 1}, "CallFailed"},
		"not without the parent it names":      {down, &Health{}, "NotCalledYet"},
		"not if all that are left are paused":  {down, &Health{Total: 1, Paused: 1}, "NotCalledYet"},
		"not once a sync ended without a call": {down, &Health{Total: 1, Synced: 1}, "NotCalledYet"},
		"without parents, if it says no ill":   {&Health{HookCalled: true}, &Health{}, "Answered"},
	} {
		t.Run(name, func(t *testing.T) {
			status := Status(Status(v1alpha1.ControllerStatus{}, 1, test.before, nil), 1, test.after, nil)
			said := conditionsOf(t, status).reachable
			if !strings.Contains(said, " "+test.want+": ") {
				t.Errorf("it says %q, want %s", said, test.want)
			}
		})
	}
}

func said(health *Health, kind string) string {
	status := Status(v1alpha1.ControllerStatus{}, 1, health, nil)
	condition := meta.FindStatusCondition(status.Conditions, kind)
	if condition == nil {
		condition = &metav1.Condition{}
	}
	return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

func TestTheConditionParentsSynced(t *testing.T) {
	crashed := &ParentError{Parent: shop, Message: "the hook crashed"}
	tests := map[string]struct {
		health *Health
		want   string
	}{
		"no controller runs":       {nil, "Unknown NotRunning: no controller runs"},
		"they are not counted yet": {&Health{Uncounted: true}, "Unknown NotAllSyncedYet: some parents have not been synced yet"},
		"there are no parents": {&Health{}, "True NoParents: the controller has no parents: no object of the type " +
			"exists, or the controller selects none"},
		"some are not synced yet": {&Health{Total: 3, Synced: 2}, "Unknown NotAllSyncedYet: some parents have not been " +
			"synced yet"},
		"all are synced": {&Health{Total: 3, Synced: 3}, "True AllSynced: every parent is in its desired state"},
		"the only one fails": {&Health{Total: 1, Failing: 1, Failure: crashed}, "False ParentsFailing: Web " +
			"default/shop: the hook crashed"},
		"one of some fails": {&Health{Total: 3, Failing: 1, Failure: crashed}, "False ParentsFailing: Web " +
			"default/shop: the hook crashed (1 of 3 parents)"},
		"some fail": {&Health{Total: 3, Failing: 2, Failure: crashed}, "False ParentsFailing: Web " +
			"default/shop: the hook crashed (and 1 more of 3 parents)"},
		"the error names its parent": {
			&Health{Total: 1, Failing: 1, Failure: &ParentError{Parent: shop, Message: "Web default/shop: its status is refused"}},
			"False ParentsFailing: Web default/shop: its status is refused",
		},
		"nobody knows why one does": {&Health{Total: 3, Failing: 1}, "False ParentsFailing: 1 of 3 parents are not in " +
			"their desired state"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := said(test.health, v1alpha1.ConditionParentsSynced); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheConditionWarnings(t *testing.T) {
	warning := ParentWarning{
		Parent: shop, Warning: pipeline.Warning{Reason: v1alpha1.ReasonUnknownField, Message: "the cluster drops spec.replica"},
	}
	several := warning
	several.More = 2
	named := warning
	named.Message = "Web default/shop: " + named.Message
	all := &Health{Warning: warning, LacksAccount: true}
	all.SetWriteLoops([]pipeline.WriteLoop{{Parent: shop, Object: shop, OfParent: true, OfStatus: true, AnswerChanges: true}})
	const field = "Web default/shop: the cluster drops spec.replica"
	tests := map[string]struct {
		health *Health
		want   []string
	}{
		"no controller runs":              {nil, []string{"Unknown NotRunning: no controller runs"}},
		"all is well":                     {&Health{}, []string{"False NoWarnings: no warnings"}},
		"one parent":                      {&Health{Warning: warning}, []string{"True UnknownField: " + field}},
		"a warning that names its parent": {&Health{Warning: named}, []string{"True UnknownField: " + field}},
		"several parents":                 {&Health{Warning: several}, []string{"True UnknownField: " + field + " (and 2 more parents)"}},
		"no service account":              {&Health{LacksAccount: true}, []string{"True ActsAsServer: ", "set spec.serviceAccount"}},
		"an inline hook": {&Health{Mismatch: "spec.hooks: no such field"},
			[]string{"True SchemaMismatch: spec.hooks: no such field"}},
		"all at once, the gravest first": {
			all,
			[]string{"True WriteLoop: the status of Web default/shop is repeatedly written", "; " + field,
				"; the controller acts"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := said(test.health, v1alpha1.ConditionWarnings)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("it says %q, want %q in it", got, want)
				}
			}
		})
	}
}

// A server that is started again does not say that a controller is not ready until it has synced a parent.
func TestReadyStaysAfterARestart(t *testing.T) {
	fails := &Health{Total: 2, Failing: 2}
	for name, test := range map[string]struct {
		before     *Health
		problem    *Problem
		generation int64
		want       string
	}{
		"it ran":                     {&Health{Total: 2, Synced: 2}, nil, 1, v1alpha1.ReasonRunning},
		"all parents failed":         {fails, nil, 1, v1alpha1.ReasonAllParentsFailing},
		"it ran with another spec":   {&Health{Total: 2, Synced: 2}, nil, 2, v1alpha1.ReasonNotSyncedYet},
		"its types were not there":   {nil, &Problem{Reason: v1alpha1.ReasonUnknownType, Err: errors.New("x")}, 1, v1alpha1.ReasonNotSyncedYet},
		"it had not synced a parent": {&Health{Total: 2}, nil, 1, v1alpha1.ReasonNotSyncedYet},
	} {
		t.Run(name, func(t *testing.T) {
			status := Status(Status(v1alpha1.ControllerStatus{}, 1, test.before, test.problem), test.generation, &Health{Total: 2}, nil)
			if got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Reason; got != test.want {
				t.Errorf("the reason is %s, want %s", got, test.want)
			}
		})
	}
}
