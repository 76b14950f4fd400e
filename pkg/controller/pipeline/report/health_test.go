// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Each field of Health makes another status.
func TestAnyOtherHealthIsAnother(t *testing.T) {
	failure, warning := &ParentError{Message: "no"}, &ParentWarning{Parent: shop, Warning: pipeline.Warning{Message: "hm"}}
	for name, change := range map[string]func(*Health){
		"Uncounted":        func(h *Health) { h.Uncounted = true },
		"Total":            func(h *Health) { h.Total++ },
		"Synced":           func(h *Health) { h.Synced++ },
		"Failing":          func(h *Health) { h.Failing++ },
		"HookCalled":       func(h *Health) { h.HookCalled = true },
		"HookErr":          func(h *Health) { h.HookErr = errors.New("other") },
		"StaleCredentials": func(h *Health) { h.StaleCredentials = nil },
		"LastError":        func(h *Health) { h.LastError = &ParentError{Message: "no"} },
		"Failure":          func(h *Health) { h.Failure = nil },
		"Warned":           func(h *Health) { h.Warned++ },
		"Warning":          func(h *Health) { h.Warning = &ParentWarning{Parent: shop, More: 1, Warning: warning.Warning} },
		"LacksAccount":     func(h *Health) { h.LacksAccount = true },
		"Mismatch":         func(h *Health) { h.Mismatch = "no such field" },
		"Outdated":         func(h *Health) { h.Outdated++ },
		"Paused":           func(h *Health) { h.Paused++ },
		"PausedParent":     func(h *Health) { h.PausedParent = shop },
		"AllPaused":        func(h *Health) { h.AllPaused = true },
		"WholeErrors":      func(h *Health) { h.WholeErrors = true },
		"WriteLoops":       func(h *Health) { h.WriteLoops = []pipeline.WriteLoop{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			if _, is := reflect.TypeFor[Health]().FieldByName(name); !is {
				t.Errorf("there is no field %s", name)
			}
			a := &Health{HookErr: errors.New("no"), StaleCredentials: errors.New("no"), LastError: failure, Failure: failure, Warning: warning}
			b := *a
			again := *warning
			b.Warning, b.HookErr = &again, errors.New("no")
			if !SameHealth(a, &b) {
				t.Error("the same is not the same")
			}
			change(&b)
			if SameHealth(a, &b) || SameHealth(&b, a) || SameHealth(nil, &b) || SameHealth(&b, nil) {
				t.Error("it makes the same status")
			}
		})
	}
	if fields := reflect.TypeFor[Health]().NumField(); fields != 19 {
		t.Errorf("there are %d fields: SameHealth and this test must know all", fields)
	}
	if !SameHealth(nil, nil) {
		t.Error("none is not the same as none")
	}
}

func TestErrorsOfHooksCanBeShownWhole(t *testing.T) {
	for name, test := range map[string]struct {
		error string
		whole bool
		most  int
	}{
		"they are cut":       {strings.Repeat("x", 5000), false, MaxMessage},
		"whole ones are not": {strings.Repeat("x", 5000), true, 6000},
		"a condition has no more than it can have": {strings.Repeat("ü", 50_000), true, MaxWholeMessage},
	} {
		t.Run(name, func(t *testing.T) {
			failure := &ParentError{Parent: shop, Message: test.error}
			status := Status(v1alpha1.ControllerStatus{}, 1, &Health{
				Total: 1, Failing: 1, HookCalled: true, HookErr: errors.New(test.error), LastError: failure, Failure: failure, WholeErrors: test.whole,
			}, nil)
			for place, message := range map[string]string{
				"lastError":                     status.LastError.Message,
				v1alpha1.ConditionParentsSynced: meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced).Message,
			} {
				isWhole := strings.Contains(message, test.error)
				want := test.whole && len(test.error) < MaxWholeMessage
				if len(message) > test.most || isWhole != want || strings.ToValidUTF8(message, "") != message {
					t.Errorf("%s has %d bytes", place, len(message))
				}
			}
		})
	}
}

// A person pastes the rules, so none may be left out of a long message.
func TestMissingRightsAreShownWhole(t *testing.T) {
	refusal := &permissions.Error{Account: v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}}
	for i := range 40 {
		of := rights.Object{GroupResource: schema.GroupResource{Group: fmt.Sprintf("group%d.example.com", i), Resource: "things"}}
		refusal.Missing = append(refusal.Missing, rights.Required{Right: rights.Right{Object: of, Verb: "list"}, For: "its children"})
	}
	status := Status(v1alpha1.ControllerStatus{}, 1, nil, RefusalProblem(refusal))
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != v1alpha1.ReasonForbidden || !strings.HasSuffix(ready.Message, strings.TrimSuffix(rights.Rules(refusal.Missing), "\n")) {
		t.Errorf("Ready is %s: %s", ready.Reason, ready.Message)
	}
}

func TestAClusterThatCannotBeAskedIsUnreachable(t *testing.T) {
	if problem := RefusalProblem(&permissions.Error{Unanswered: errors.New("connection refused")}); problem.Reason != v1alpha1.ReasonClusterUnreachable {
		t.Errorf("the reason is %s", problem.Reason)
	}
}

// It is compared four times a second.
func TestThatAnAccountStillLacksRightsIsSeenCheaply(t *testing.T) {
	refusal := &permissions.Error{}
	for i := range 100 {
		of := rights.Object{GroupResource: schema.GroupResource{Group: fmt.Sprintf("group%d.example.com", i), Resource: "things"}}
		refusal.Missing = append(refusal.Missing, rights.Required{Right: rights.Right{Object: of, Verb: "list"}, For: "its children"})
	}
	problem := RefusalProblem(refusal)
	said := Status(v1alpha1.ControllerStatus{}, 1, nil, problem)
	if allocations := testing.AllocsPerRun(10, func() { ReadyIsUpToDate(&said, 1, problem) }); allocations > 2 {
		t.Errorf("it takes %.0f allocations to see that nothing is new", allocations)
	}
}

// The rules are too long for an event, and what is cut cannot be pasted.
func TestEventsSayWhereTheMissingRightsAre(t *testing.T) {
	refusal := &permissions.Error{Account: v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}}
	for i := range 100 {
		of := rights.Object{GroupResource: schema.GroupResource{Resource: fmt.Sprintf("type%d", i)}, Namespace: "shop"}
		refusal.Missing = append(refusal.Missing, rights.Required{Right: rights.Right{Object: of, Verb: "list"}, For: "its children"})
	}
	const summary = "service account shop/websites lacks permissions to read what the controller needs; the condition " +
		"Ready of the controller has the rules to bind to it"
	writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
	writer.CreateError(parent(t, "shop"), refusal)
	if event := <-sent; event.Message != "Cannot create new controller: "+summary {
		t.Errorf("the event of the controller is: %s", event.Message)
	}
	writer.SyncError(parent(t, "shop"), fmt.Errorf("observe: %w", refusal))
	if event := <-sent; event.Message != "Sync error: observe: "+summary {
		t.Errorf("the event of the parent is: %s", event.Message)
	}
}
