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

// A write of the parent that is made anew on a later form of it leaves there what others have
// changed, and is left out if the others have made the same change.
func TestAWriteOfTheParentMadeAnew(t *testing.T) {
	const (
		observed = `, labels: {a: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco]`
		// Others have changed a label, and added an annotation and a finalizer.
		later    = `, labels: {a: "2", c: "3"}, annotations: {theirs: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco, theirs/one]`
		deleting = `, deletionTimestamp: "2026-03-04T05:06:07Z"`
	)
	finalizer := func(adds bool) func(*world) *pipeline.Step {
		return func(w *world) *pipeline.Step {
			name := ourFinalizer
			if adds {
				name = "new/one"
			}
			step, err := FinalizerStep(&pipeline.Snapshot{Parent: w.parent, ParentType: w.parentType, Finalizer: name, NeedsFinalizer: adds})
			if err != nil {
				t.Fatal(err)
			}
			return step
		}
	}
	of := func(subresource bool, response pipeline.Response) func(*world) *pipeline.Step {
		return func(w *world) *pipeline.Step {
			planned := w.withSubresource(subresource).plan(&response)
			if len(planned.Steps) != 1 {
				t.Fatalf("the steps are %v", steps(planned))
			}
			return &planned.Steps[0]
		}
	}
	tests := map[string]struct {
		step          func(*world) *pipeline.Step
		before, now   [2]string // metadata and fields
		want          [2]string // empty if nothing is to be written
		anyGeneration bool
	}{
		"the status": {
			step:   of(true, pipeline.Response{Status: []byte(`{"x":1}`)}),
			before: [2]string{observed, ""}, now: [2]string{later, ", status: {theirs: 1}"}, want: [2]string{later, ", status: {x: 1}"},
		},
		"the status that others have written": {
			step:   of(true, pipeline.Response{Status: []byte(`{"x":1}`)}),
			before: [2]string{observed, ""}, now: [2]string{later, ", status: {x: 1}"},
		},
		"a label": {
			step:   of(true, pipeline.Response{Labels: changes("b", "1")}),
			before: [2]string{observed, ""}, now: [2]string{later, ", status: {theirs: 1}"},
			want: [2]string{`, labels: {a: "2", b: "1", c: "3"}, annotations: {theirs: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco, theirs/one]`, ", status: {theirs: 1}"},
		},
		"a label that differs only now": {
			step:   of(true, pipeline.Response{Labels: changes("a", "1", "b", "1")}),
			before: [2]string{observed, ""}, now: [2]string{later, ""},
			want: [2]string{`, labels: {a: "1", b: "1", c: "3"}, annotations: {theirs: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco, theirs/one]`, ""},
		},
		"an annotation that others have set": {
			step:   of(true, pipeline.Response{Annotations: changes("theirs", "1")}),
			before: [2]string{observed, ""}, now: [2]string{later, ""},
		},
		"a label and the status that is written with it": {
			step:   of(false, pipeline.Response{Labels: changes("a", "9"), Status: []byte(`{"x":1}`)}),
			before: [2]string{observed, ""}, now: [2]string{later, ", status: {theirs: 1}"},
			want: [2]string{`, labels: {a: "9", c: "3"}, annotations: {theirs: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco, theirs/one]`, ", status: {x: 1}"},
		},
		"a label, after others have written the status": {
			step:   of(false, pipeline.Response{Labels: changes("a", "9"), Status: []byte(`{"x":1}`)}),
			before: [2]string{observed, ""}, now: [2]string{later, ", status: {x: 1}"},
			want: [2]string{`, labels: {a: "9", c: "3"}, annotations: {theirs: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco, theirs/one]`, ", status: {x: 1}"},
		},
		"the finalizer after the hook was asked": {
			step:   of(true, pipeline.Response{Finalized: true}),
			before: [2]string{observed + deleting, ""}, now: [2]string{later + deleting, ""},
			want: [2]string{`, labels: {a: "2", c: "3"}, annotations: {theirs: "1"}, finalizers: [theirs/one]` + deleting, ""},
		},
		"the finalizer that others have removed": {
			step:   of(true, pipeline.Response{Finalized: true}),
			before: [2]string{observed + deleting, ""}, now: [2]string{deleting, ""},
		},
		"the finalizer before a hook is asked": {
			step: finalizer(true), anyGeneration: true,
			before: [2]string{observed, ""}, now: [2]string{later, ""},
			want: [2]string{`, labels: {a: "2", c: "3"}, annotations: {theirs: "1"}, finalizers: [metacontroller.io/decoratorcontroller-deco, theirs/one, new/one]`, ""},
		},
		"the finalizer, on a parent that is being deleted": {
			step: finalizer(true), anyGeneration: true,
			before: [2]string{observed, ""}, now: [2]string{later + deleting, ""},
		},
		"no finalizer any more": {
			step: finalizer(false), anyGeneration: true,
			before: [2]string{observed, ""}, now: [2]string{later, ""},
			want: [2]string{`, labels: {a: "2", c: "3"}, annotations: {theirs: "1"}, finalizers: [theirs/one]`, ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newTarget(t, targetWith(test.before[0], test.before[1]))
			step := test.step(w)
			if step.AnyGeneration != test.anyGeneration {
				t.Errorf("it may be made on any generation: %v", step.AnyGeneration)
			}
			body, err := step.Rebase(parseYAML(t, targetWith(test.now[0], test.now[1])))
			if err != nil {
				t.Fatal(err)
			}
			if test.want == [2]string{} {
				if body != nil {
					t.Errorf("it writes %s", body)
				}
				return
			}
			want, got := decode(t, parseYAML(t, targetWith(test.want[0], test.want[1]))), decode(t, parseJSON(t, body))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the body (-want +got):\n%s", diff)
			}
			again, err := step.Rebase(w.parent)
			if err != nil || string(again) != string(step.Body) {
				t.Errorf("made on what was observed it is\n%s, %v\nwant\n%s", again, err, step.Body)
			}
		})
	}
}
