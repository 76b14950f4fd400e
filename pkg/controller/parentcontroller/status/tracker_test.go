// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

func TestHowTheLastSyncsEnded(t *testing.T) {
	a, b := web("a"), web("b")
	h := NewTracker()
	h.Update(a, nil)
	h.Update(b, errors.New("no"))
	if !h.parents[a].Succeeded || h.parents[b].Succeeded || h.lastError == nil || h.lastError.Parent != b || h.lastError.Message != "no" || h.lastError.Time.IsZero() {
		t.Errorf("parents %v, last error %v", h.parents, h.lastError)
	}
	h.Update(a, fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{}))
	if h.parents[a].Succeeded || h.lastError.Parent != b {
		t.Error("a parent whose hook is down fails, and the call that was not answered tells why")
	}
	h.Update(a, nil)
	if !h.lastError.Recovered.IsZero() {
		t.Error("another parent has recovered")
	}
	h.Update(b, nil)
	if !h.parents[b].Succeeded || h.lastError.Message != "no" || h.lastError.Recovered.IsZero() {
		t.Errorf("the last error stays when its parent has recovered, and says so: %+v", h.lastError)
	}
	h.Update(a, errors.New("once more"))
	if !h.lastError.Recovered.IsZero() || h.lastError.Parent != a {
		t.Errorf("the last error is %+v", h.lastError)
	}
	h.Forget(a)
	if h.lastError.Recovered.IsZero() {
		t.Error("a parent that is gone does not fail any more")
	}
	if _, known := h.parents[a]; known {
		t.Error("a parent that is gone is still known")
	}
}

// The rules may be too long for the status of a parent's failure. The condition Ready has them.
func TestTheFailureOfAParentIsWithoutTheMissingRules(t *testing.T) {
	health := NewTracker()
	health.Update(web("a"), fmt.Errorf("observe: %w", refused("secrets")))
	const want = "observe: service account shop/websites lacks permissions to read objects that the controller needs; see the condition Ready of the controller for the rules to bind to it"
	if got := health.lastError.Message; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

// refused is the error of an account that may not read a type.
func refused(resource string) *permissions.Error {
	of := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Namespaced: true}
	return &permissions.Error{Account: v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}, Missing: permissions.ToShow(of, nil, "a test")}
}

func TestTheStatusShowsTheSameFailureAndWarningWhileTheyLast(t *testing.T) {
	h := NewTracker()
	for i := range 50 {
		h.Update(web(fmt.Sprint(i)), errors.New("no"))
		h.SetFindings(web(fmt.Sprint(i)), []pipeline.Warning{{Message: fmt.Sprint("warning ", i)}}, 2)
	}
	failing, warned := h.failure().Parent, h.warning().Parent
	for range 50 {
		if h.failure().Parent != failing || h.warning().Parent != warned {
			t.Fatal("another parent is shown each time")
		}
	}
	h.Update(failing, nil)
	h.SetFindings(warned, nil, 0)
	if h.failure().Parent == failing || h.warning().Parent == warned || h.failing != 49 || h.warned != 49 || h.outdated != 98 {
		t.Errorf("%d fail and %d are warned, %d children are outdated", h.failing, h.warned, h.outdated)
	}
	for i := range 50 {
		h.Forget(web(fmt.Sprint(i)))
	}
	if h.failure() != nil || h.warning() != (report.ParentWarning{}) || h.outdated != 0 {
		t.Errorf("without parents, %d fail, %d are warned and %d children are outdated", h.failing, h.warned, h.outdated)
	}
}

func TestTheStatusShowsTheGravestWarning(t *testing.T) {
	outdated, rollout := pipeline.Warning{Reason: v1alpha1.ReasonChildOutdated, Message: "outdated"}, pipeline.Warning{Reason: v1alpha1.ReasonRolloutWaiting, Message: "waits"}
	h := NewTracker()
	expect := func(when, want string) {
		t.Helper()
		if got := h.warning(); string(got.Reason)+" "+got.Message != want {
			t.Errorf("%s, it shows %+v, want %s", when, got, want)
		}
	}
	h.SetFindings(web("a"), []pipeline.Warning{outdated}, 0)
	expect("with one warning", "ChildOutdated outdated")
	h.SetFindings(web("b"), []pipeline.Warning{outdated, rollout}, 0)
	expect("with a graver one of another parent", "RolloutWaiting waits; outdated")
	h.SetFindings(web("a"), []pipeline.Warning{rollout}, 0)
	expect("with one as grave", "RolloutWaiting waits; outdated")
	h.SetFindings(web("b"), []pipeline.Warning{outdated}, 0)
	expect("when that has become less grave", "RolloutWaiting waits")
	h.SetFindings(web("a"), nil, 0)
	expect("when it is over", "ChildOutdated outdated")
}

// The end of a failure is reported if there was an event about the failure.
func TestWhichFailuresAreReportedToBeOver(t *testing.T) {
	no, open, unfinalized := errors.New("no"), &hook.CircuitOpenError{}, &UnfinalizedError{"not finalized"}
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
			h := NewTracker()
			var over []string
			for _, err := range test.syncs {
				message := ""
				if failure := h.Update(web("a"), err); failure != nil {
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
	h := NewTracker()
	h.SetFindings(web("a"), nil, 0)
	if h.succeeded != 0 {
		t.Errorf("%d have succeeded", h.succeeded)
	}
}

func TestWhatWasChosenIsNoWarning(t *testing.T) {
	h := NewTracker()
	h.SetFindings(web("a"), []pipeline.Warning{{Reason: v1alpha1.ReasonChildOutdated, Message: "a differs", Chosen: true}}, 1)
	if h.warned != 0 || h.warning() != (report.ParentWarning{}) || h.outdated != 1 {
		t.Errorf("%d are warned, %d outdated", h.warned, h.outdated)
	}
}
