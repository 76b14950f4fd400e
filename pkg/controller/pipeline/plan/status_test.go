// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// answering is an answer without children.
func answering(status string) *pipeline.Response {
	response := &pipeline.Response{}
	if status != "" {
		response.Status = []byte(status)
	}
	return response
}

func TestStatus(t *testing.T) {
	tests := map[string]struct {
		observed string // JSON; "" if the parent has no status
		answer   string // JSON; "" if the answer has none
		want     string // JSON of the status to be written; "" if none is
		why      string
	}{
		"the generation that was observed is put in": {
			answer: `{"ready":true}`, want: `{"observedGeneration":3,"ready":true}`, why: "it differs at status.observedGeneration",
		},
		"a generation that the hook answers is replaced": {
			answer: `{"observedGeneration":99,"ready":true}`, want: `{"observedGeneration":3,"ready":true}`, why: "it differs at status.observedGeneration",
		},
		"an answer without a status erases it": {
			observed: `{"observedGeneration":3,"ready":true}`, want: `{"observedGeneration":3}`, why: "it differs at status.ready",
		},
		"an answer without a status is written once": {want: `{"observedGeneration":3}`, why: "it differs at status.observedGeneration"},
		"an empty status erases it": {
			observed: `{"observedGeneration":3,"ready":true}`, answer: `{}`, want: `{"observedGeneration":3}`, why: "it differs at status.ready",
		},
		"a field that others have put in goes": {
			observed: `{"observedGeneration":3,"ready":true,"theirs":1}`, answer: `{"ready":true}`, want: `{"observedGeneration":3,"ready":true}`, why: "it differs at status.theirs",
		},
		"a field further below": {
			observed: `{"observedGeneration":3,"conditions":[{"type":"A","status":"False"}]}`, answer: `{"conditions":[{"type":"A","status":"True"}]}`,
			want: `{"conditions":[{"status":"True","type":"A"}],"observedGeneration":3}`, why: "it differs at status.conditions[0].status",
		},
		"an older generation": {
			observed: `{"observedGeneration":2}`, answer: `{}`, want: `{"observedGeneration":3}`, why: "it differs at status.observedGeneration",
		},
		"a status that is null":                  {observed: `null`, answer: `{}`, want: `{"observedGeneration":3}`, why: "it differs at status.observedGeneration"},
		"a status that is no object":             {observed: `"text"`, answer: `{}`, want: `{"observedGeneration":3}`, why: "it differs at status.observedGeneration"},
		"a status that is a list":                {observed: `[1]`, answer: `{"ready":true}`, want: `{"observedGeneration":3,"ready":true}`, why: "it differs at status.observedGeneration"},
		"the same status":                        {observed: `{"observedGeneration":3,"ready":true}`, answer: `{"ready":true}`},
		"the same number written otherwise":      {observed: `{"observedGeneration":3,"share":10}`, answer: `{"share":10.0}`},
		"a null that the cluster did not store":  {observed: `{"observedGeneration":3}`, answer: `{"message":null}`},
		"no status, and none but the generation": {observed: `{"observedGeneration":3}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web)
			parent := `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","uid":"parent-uid","generation":3,"resourceVersion":"5"},"spec":{"a":1.0}`
			if test.observed != "" {
				parent += `,"status":` + test.observed
			}
			w.parent = parseJSON(t, []byte(parent+"}"))
			planned := w.plan(answering(test.answer))
			if test.want == "" {
				if len(planned.Steps) > 0 {
					t.Errorf("steps: %v", steps(planned))
				}
				return
			}
			step := stepFor(t, planned, "shop")
			if step.Op != pipeline.Status || step.Type != webs || step.Namespace != "default" || step.Observed != w.parent || step.Why != test.why {
				t.Errorf("the step is %s of %s %s because %q, want it because %q", step.Op, step.Type, step.Namespace, step.Why, test.why)
			}
			// All else goes back as it came, byte by byte, with the resource version.
			want := `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","uid":"parent-uid","generation":3,"resourceVersion":"5"},"spec":{"a":1.0},"status":` + test.want + `}`
			if got := string(step.Body); got != want {
				t.Errorf("body is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A definition may drop fields of the status, or fill some in: writing again would
// not help.
func TestAStatusThatTheHostStoresOtherwiseIsWrittenOnce(t *testing.T) {
	w := newWorld(t, web)
	w.defaults = func(content map[string]any) {
		delete(content["status"].(map[string]any), "unknown")
		content["status"].(map[string]any)["filledIn"] = "yes"
	}
	planned := w.plan(answering(`{"unknown":1}`))
	if diff := cmp.Diff([]string{"status Web default/shop"}, writes(planned)); diff != "" {
		t.Fatalf("first sync (-want +got):\n%s", diff)
	}
	w.carryOut(planned)
	if got := writes(w.plan(answering(`{"unknown":1}`))); len(got) > 0 {
		t.Errorf("second sync writes %v", got)
	}
	if diff := cmp.Diff([]string{"status Web default/shop"}, writes(w.plan(answering(`{"unknown":2}`)))); diff != "" {
		t.Errorf("a sync with another answer (-want +got):\n%s", diff)
	}
	w.defaults = func(content map[string]any) {}
	w.parent = w.stored(map[string]any{
		"apiVersion": "ctl.example/v1", "kind": "Web",
		"metadata": map[string]any{"name": "shop", "namespace": "default", "generation": int64(3)}, "status": map[string]any{},
	}, w.parent.UID)
	if diff := cmp.Diff([]string{"status Web default/shop"}, writes(w.plan(answering(`{"unknown":1}`)))); diff != "" {
		t.Errorf("a sync after somebody wiped the status (-want +got):\n%s", diff)
	}
}

func TestAStatusFoundEqualIsUpToDate(t *testing.T) {
	w := newWorld(t, web)
	if got := writes(w.plan(answering(`{}`))); len(got) > 0 {
		t.Fatalf("writes %v", got)
	}
	if len(w.upToDate.objects) != 1 {
		t.Errorf("remembered is %v, want the parent", w.upToDate.objects)
	}
}

func TestAStatusIsWrittenEvenIfAChildIsRefused(t *testing.T) {
	w := newWorld(t, web, configMaps)
	response := w.answer(`{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {app: shop}}}`)
	response.Status = []byte(`{"ready":false}`)
	planned := w.plan(response)
	if diff := cmp.Diff([]string{"status Web default/shop"}, steps(planned)); diff != "" || len(planned.Refused) != 1 {
		t.Errorf("refused %v, steps (-want +got):\n%s", planned.Refused, diff)
	}
}

func TestAStatusThatCannotBeRead(t *testing.T) {
	w := newWorld(t, web)
	if planned, err := Composite(w.snapshot(), answering(`{"a":1e999}`), nil, &w.upToDate); err == nil || !strings.HasPrefix(err.Error(), "status of Web default/shop: ") {
		t.Errorf("error is %v, plan is %v", err, planned)
	}
}

// Types that do not come from a CustomResourceDefinition have a status that others write.
func TestForeignStatus(t *testing.T) {
	const observed = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid, generation: 3, resourceVersion: "5"}, status: {theirs: 1}}`
	tests := map[string]struct {
		subresource bool
		answer      string
		want        string
	}{
		"an answer with a status":                        {true, `{"x":1}`, `{"observedGeneration":3,"theirs":1,"x":1}`},
		"an answer with an empty status":                 {true, `{}`, `{"observedGeneration":3,"theirs":1}`},
		"an answer that changes a field of theirs":       {true, `{"theirs":{}}`, `{"observedGeneration":3,"theirs":{}}`},
		"an answer that removes a field of theirs":       {true, `{"theirs":null}`, `{"observedGeneration":3}`},
		"an answer without a status leaves it":           {true, "", ""},
		"a type without a subresource has none to write": {false, `{"ready":true}`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web)
			w.parent = parseYAML(t, observed)
			w.parentType.StatusSubresource = test.subresource
			snapshot := w.snapshot()
			snapshot.ForeignStatus = true
			planned, err := Composite(snapshot, answering(test.answer), nil, &UpToDateCache{})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, step := range planned.Steps {
				got += string(object.Lookup(step.Body, "status"))
			}
			if got != test.want {
				t.Errorf("the status written is %s, want %s", got, test.want)
			}
		})
	}
}
