// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
