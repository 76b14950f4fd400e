// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

func TestAnErrorListsItsReasonsInTheSameOrder(t *testing.T) {
	invalid := func(fields ...string) error {
		var all field.ErrorList
		for _, name := range fields {
			all = append(all, field.Invalid(field.NewPath(name), "x", "is wrong, see [docs]"))
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "a", all)
	}
	for name, test := range map[string]struct {
		a, b error
		want string
	}{
		"lines of a schema": {
			errors.New("failed to create typed patch object: errors:\n  .spec.b: duplicate\n  .spec.a: duplicate"),
			errors.New("failed to create typed patch object: errors:\n  .spec.a: duplicate\n  .spec.b: duplicate"),
			"failed to create typed patch object: errors:\n  .spec.a: duplicate\n  .spec.b: duplicate",
		},
		"what follows the lines": {
			errors.New("errors:\n  b\n  a\nz\ny"), errors.New("errors:\n  a\n  b\nz\ny"), "errors:\n  a\n  b\nz\ny",
		},
		"causes": {
			invalid("b", "a"), invalid("a", "b"),
			`Deployment.apps "a" is invalid: [a: Invalid value: "x": is wrong, see [docs], ` +
				`b: Invalid value: "x": is wrong, see [docs]]`,
		},
		"other lines":  {errors.New("b\n  z\n  a"), errors.New("b\n  z\n  a"), "b\n  z\n  a"},
		"other errors": {errors.New("one"), errors.New("one"), "one"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := inStableOrder(test.a), inStableOrder(test.b)
			if a.Error() != test.want || b.Error() != test.want {
				t.Errorf("the texts are\n%s\n%s\nwant\n%s", a, b, test.want)
			}
			if !errors.Is(a, test.a) || apierrors.IsInvalid(a) != apierrors.IsInvalid(test.a) {
				t.Error("the error has become another one")
			}
		})
	}
}
