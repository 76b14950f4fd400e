// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const shopURL = "/apis/ctl.example/v1/namespaces/default/webs/shop"

// lettingGo is the step that takes the finalizer off the parent.
func lettingGo(t *testing.T) pipeline.Step {
	s := step(t, pipeline.Status, "shop")
	s.Op = pipeline.Finalizer
	s.Body = []byte(`{"metadata":{"name":"shop","resourceVersion":"5","finalizers":[]},"spec":{}}`)
	s.Rebase = func(current *object.Object) ([]byte, error) {
		return fmt.Appendf(nil, `{"metadata":{"name":"shop","resourceVersion":%q,"finalizers":[]},"spec":{}}`, current.ResourceVersion), nil
	}
	return s
}

func TestTheFinalizerComesLastAndUponTheStatus(t *testing.T) {
	api, actor := serve(t, nil)
	outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{lettingGo(t), step(t, pipeline.Status, "shop"), step(t, pipeline.Create, "a")}})
	want := []request{
		{"POST", "/api/v1/namespaces/default/configmaps?fieldManager=metacontroller", "application/json", `{"a":"a"}`},
		{"PUT", shopURL + "/status?fieldManager=metacontroller", "application/json", `{"a":"shop"}`},
		{"PUT", shopURL + "?fieldManager=metacontroller", "application/json", `{"metadata":{"name":"shop","resourceVersion":"9","finalizers":[]},"spec":{}}`},
	}
	if diff := cmp.Diff(want, api.requests, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(outcomes) != 3 || outcomes[2].Err != nil || outcomes[2].Result == nil {
		t.Errorf("outcomes are %+v", outcomes)
	}
}

func TestTheFinalizerAloneIsWrittenAsPlanned(t *testing.T) {
	api, actor := serve(t, nil)
	actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{lettingGo(t)}})
	want := []request{{"PUT", shopURL + "?fieldManager=metacontroller", "application/json", string(lettingGo(t).Body)}}
	if diff := cmp.Diff(want, api.requests, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestTheParentIsNotLetGoWhenSomethingHasToBeTriedAgain(t *testing.T) {
	tests := map[string]struct {
		code   int
		reason metav1.StatusReason
		ends   bool
	}{
		"a child was refused":                     {422, metav1.StatusReasonInvalid, false},
		"a child changed meanwhile":               {409, metav1.StatusReasonConflict, false},
		"a child's name belongs to somebody else": {409, metav1.StatusReasonAlreadyExists, true},
		"a child was gone before it was deleted":  {404, metav1.StatusReasonNotFound, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, func(asked request) (int, string) {
				if asked.method == "POST" || asked.method == "DELETE" {
					return test.code, failure(test.code, test.reason, "no")
				}
				return succeed(asked)
			})
			child := step(t, pipeline.Create, "a")
			if test.reason != metav1.StatusReasonAlreadyExists {
				child = step(t, pipeline.Delete, "a")
			}
			outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{child, lettingGo(t)}})
			if ended := len(outcomes) == 2; ended != test.ends {
				t.Errorf("the finalizer was written: %v, want %v (requests %v)", ended, test.ends, api.seen())
			}
		})
	}
}

// The cluster refuses what is in a Namespace that is not there yet.
func TestANamespaceIsCreatedBeforeWhatIsInIt(t *testing.T) {
	inside, changed := step(t, pipeline.Create, "a"), step(t, pipeline.Update, "b")
	place := step(t, pipeline.Create, "default")
	place.Type, place.Namespace = namespaces, ""
	plan := &pipeline.Plan{Steps: []pipeline.Step{inside, changed, place}}
	api, actor := serve(t, nil)
	actor.Act(t.Context(), snapshot(t), plan)
	const first = "POST /api/v1/namespaces?fieldManager=metacontroller"
	if seen := api.seen(); len(seen) != 3 || seen[0] != first {
		t.Errorf("requests are %v", seen)
	}
	if inOrder := InOrder(plan); len(inOrder) != 3 || inOrder[0].Name != "default" {
		t.Errorf("the order is %v", inOrder)
	}
}
