// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhoHasANameThatIsTaken(t *testing.T) {
	owned := func(uid string, controller string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u","ownerReferences":[
			{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"` + uid + `","controller":` + controller + `}]}}`
	}
	tests := map[string]struct {
		code   int
		holder string
		taken  bool
	}{
		"the parent itself, and the answer got lost": {200, owned("parent-uid", "true"), false},
		"another of the parent's name":               {200, owned("other-uid", "true"), true},
		"one that the parent owns and does not rule": {200, owned("parent-uid", "false"), true},
		"nobody's":                 {200, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, true},
		"it is free again":         {404, failure(404, metav1.StatusReasonNotFound, "gone"), false},
		"the cluster does not say": {403, failure(403, metav1.StatusReasonForbidden, "no"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, func(asked request) (int, string) {
				if asked.method == http.MethodPost {
					return 409, failure(409, metav1.StatusReasonAlreadyExists, "there is one")
				}
				return test.code, test.holder
			})
			outcome := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a")}})[0]
			if known := outcome.Holder != nil; known != (test.taken && test.code == 200) {
				t.Errorf("the holder is known: %v", known)
			}
			if outcome.NameConflict != test.taken || outcome.Conflict == test.taken || outcome.Err != nil || outcome.Result != nil {
				t.Errorf("taken is %v, overtaken %v, error %v", outcome.NameConflict, outcome.Conflict, outcome.Err)
			}
			if seen := api.seen(); len(seen) != 2 || !strings.HasSuffix(seen[1], "GET /api/v1/namespaces/default/configmaps/a") {
				t.Errorf("requests are %v", seen)
			}
		})
	}
}

// A target may have several decorators, and a composite may have it as its parent.
func TestWhatAnotherControllerMadeForTheParentIsTaken(t *testing.T) {
	const owners = `"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"parent-uid","controller":true}]`
	holder := func(annotations string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u","annotations":{` + annotations + `},` + owners + `}}`
	}
	const ofOne, ofTwo = `"metacontroller.k8s.io/decorator-controller":"one"`, `"metacontroller.k8s.io/decorator-controller":"two"`
	tests := map[string]struct {
		by     map[string]string
		holder string
		taken  bool
	}{
		"a decorator's own attachment":                {map[string]string{object.DecoratorAnnotation: "one"}, holder(ofOne), false},
		"another decorator's, for a decorator":        {map[string]string{object.DecoratorAnnotation: "one"}, holder(ofTwo), true},
		"a composite's child, for a decorator":        {map[string]string{object.DecoratorAnnotation: "one"}, holder(""), true},
		"a decorator's attachment, for a composite":   {nil, holder(ofOne), true},
		"a composite's own child, of the same parent": {nil, holder(""), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, actor := serve(t, func(asked request) (int, string) {
				if asked.method == http.MethodPost {
					return 409, failure(409, metav1.StatusReasonAlreadyExists, "there is one")
				}
				return 200, test.holder
			})
			by := snapshot(t)
			by.GeneratedAnnotations = test.by
			outcome := actor.Act(t.Context(), by, &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a")}})[0]
			if outcome.NameConflict != test.taken || outcome.Conflict == test.taken {
				t.Errorf("taken is %v, overtaken %v", outcome.NameConflict, outcome.Conflict)
			}
		})
	}
}
