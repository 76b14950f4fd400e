// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// A person pastes the rules, so none may be left out of a long message.
func TestMissingRightsAreShownWhole(t *testing.T) {
	refusal := &permissions.Error{Account: v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}}
	for i := range 40 {
		of := rights.Object{GroupResource: schema.GroupResource{Group: fmt.Sprintf("group%d.example.com", i), Resource: "things"}}
		refusal.Missing = append(refusal.Missing, rights.Required{Right: rights.Right{Object: of, Verb: "list"}, For: "its children"})
	}
	status := Status(v1alpha1.ControllerStatus{}, 1, nil, RefusalProblem(refusal))
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != ReasonForbidden || !strings.HasSuffix(ready.Message, strings.TrimSuffix(rights.Rules(refusal.Missing), "\n")) {
		t.Errorf("Ready is %s: %s", ready.Reason, ready.Message)
	}
	if found := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionResourcesFound); found.Reason != ReasonFound {
		t.Errorf("ResourcesFound is %s: %s", found.Reason, found.Message)
	}
}

func TestAClusterThatCannotBeAskedIsUnreachable(t *testing.T) {
	if problem := RefusalProblem(&permissions.Error{Unanswered: errors.New("connection refused")}); problem.Reason != ReasonClusterUnreachable {
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
	const summary = "service account shop/websites lacks rights to read what the controller needs; the condition Ready of the controller has the rules to bind to it"
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
