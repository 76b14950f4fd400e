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
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// The status is not made again while the health is equal. A field with an error or another pointer would differ although
// it says the same, or say something else although it is equal.
func TestHealthIsComparedByWhatItSays(t *testing.T) {
	var check func(path string, of reflect.Type)
	check = func(path string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				check(path+"."+of.Field(i).Name, of.Field(i).Type)
			}
		case reflect.Bool, reflect.Int, reflect.String:
		default:
			if of != reflect.TypeFor[*ParentError]() { // which is replaced, and never changed
				t.Errorf("%s is a %s", path, of)
			}
		}
	}
	check("Health", reflect.TypeFor[Health]())
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
				Total: 1, Failing: 1, HookCalled: true, HookError: test.error, LastError: failure, Failure: failure, WholeErrors: test.whole,
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
	const summary = "service account shop/websites lacks permissions to read objects that the controller needs; see the condition Ready of the controller for the rules to bind to it"
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
