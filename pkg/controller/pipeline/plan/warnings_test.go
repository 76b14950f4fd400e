// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// deployment is a desired Deployment with some of its spec.
func deployment(name, spec string) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, labels: {app: shop}}, spec: {%s}}`, name, spec)
}

const replicaIsUnknown = "Deployment default/%s: the cluster does not know the field spec.replica and drops it; did you mean spec.replicas?"

// warned are the warnings of a plan, which all are about unknown fields.
func warned(t *testing.T, planned *pipeline.Plan) (messages []string) {
	t.Helper()
	for _, warning := range planned.Warnings {
		if warning.Reason != v1alpha1.ReasonUnknownField || warning.About == "" || warning.EachTime {
			t.Errorf("the warning is %+v", warning)
		}
		messages = append(messages, warning.Message)
	}
	return messages
}

func checkWarned(t *testing.T, planned *pipeline.Plan, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, warned(t, planned)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestUnknownFieldsOfChildren(t *testing.T) {
	tests := map[string]struct{ desired, want []string }{
		"known fields":     {[]string{deployment("a", "replicas: 5")}, nil},
		"a misspelled one": {[]string{deployment("a", "replica: 5")}, []string{fmt.Sprintf(replicaIsUnknown, "a")}},
		"one without any that is near": {[]string{deployment("a", "nonsense: 5")},
			[]string{"Deployment default/a: the cluster does not know the field spec.nonsense and drops it; check its spelling and its place"}},
		"the same of several children": {[]string{deployment("a", "replica: 5"), deployment("b", "replica: 1"), deployment("c", "replicas: 1"), deployment("d", "replica: 1")},
			[]string{"Deployment default/a and 2 more: the cluster does not know the field spec.replica and drops it; did you mean spec.replicas?"}},
		"the same in several items of a list": {[]string{deployment("a", "template: {spec: {containers: [{name: a, imag: x}, {name: b, imag: y}]}}")},
			[]string{"Deployment default/a: the cluster does not know the field spec.template.spec.containers[0].imag and drops it; did you mean spec.template.spec.containers[0].image?"}},
		"several": {[]string{deployment("a", "replica: 5, pausd: true"), `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, lables: {x: y}, labels: {app: shop}}, dat: {a: b}}`}, []string{
			"ConfigMap default/c: the cluster does not know the field dat and drops it; did you mean data?",
			"ConfigMap default/c: the cluster does not know the field metadata.lables and drops it; did you mean metadata.labels?",
			"Deployment default/a: the cluster does not know the field spec.pausd and drops it; did you mean spec.paused?",
			fmt.Sprintf(replicaIsUnknown, "a")}},
		"a status, which is not written":       {[]string{strings.TrimSuffix(deployment("a", ""), "}") + ", status: {nonsense: 1}}"}, nil},
		"a type that the host says nothing of": {[]string{`{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: shop}}, spec: {nonsense: 1}}`}, nil},
	}
	existing := map[string][]string{"new children": nil, "existing children": {deployment("a", "replicas: 3"), deployment("b", "replicas: 3")}}
	for name, test := range tests {
		for age, children := range existing {
			for _, engine := range []Engine{DynamicApply, ServerSideApply} {
				for _, method := range []Method{OnDelete, Recreate, InPlace} {
					t.Run(fmt.Sprintf("%s, %s, %s, %s", name, age, engine, method), func(t *testing.T) {
						w := newWorld(t, web, deployments, configMaps, pods).has(deployments, children...)
						w.schemas[deployments], w.schemas[configMaps] = described(t, deployments), described(t, configMaps)
						for of := range w.children {
							w.strategies[of.GroupKind()] = Strategy{Method: method, Engine: engine}
						}
						for range 2 {
							planned := w.plan(w.answer(test.desired...))
							planned.Warnings = slices.DeleteFunc(slices.Clone(planned.Warnings), func(warning pipeline.Warning) bool { return warning.Reason == v1alpha1.ReasonChildOutdated })
							checkWarned(t, planned, withConsequence(test.want, engine, method, w.children)...)
						}
					})
				}
			}
		}
	}
}

// withConsequence returns the warnings about children with what becomes of them. Server-side apply
// refuses a child as a whole. OnDelete sends no change of an existing one.
func withConsequence(warnings []string, engine Engine, method Method, observed map[object.Type][]*object.Object) (said []string) {
	for _, warning := range warnings {
		consequence := " and rejects the creation of a child with it"
		if len(observed[deployments]) > 0 && strings.HasPrefix(warning, "Deployment") {
			consequence = " and rejects a change with it, so the child stays as it is"
			if method == OnDelete {
				consequence = ""
			}
		}
		if engine == ServerSideApply {
			warning = strings.Replace(warning, " and drops it", consequence, 1)
		}
		said = append(said, warning)
	}
	return said
}

func TestUnknownFieldsOfAttachments(t *testing.T) {
	w := newTarget(t, web, deployments)
	w.schemas[deployments] = described(t, deployments)
	checkWarned(t, w.plan(w.answer(deployment("a", "replica: 5"))), fmt.Sprintf(replicaIsUnknown, "a"))
}

func TestOnlySomeUnknownFieldsHaveAWarningEach(t *testing.T) {
	w := newWorld(t, web, deployments)
	w.schemas[deployments] = described(t, deployments)
	var fields []string
	for i := range 13 {
		fields = append(fields, fmt.Sprintf("unknown%02d: 1", i))
	}
	got := warned(t, w.plan(w.answer(deployment("a", strings.Join(fields, ", ")))))
	if want := "the cluster does not know 3 more fields"; len(got) != 11 || got[10] != want {
		t.Errorf("there are %d warnings: %q", len(got), got)
	}
}

func TestUnknownFieldsOfTheStatus(t *testing.T) {
	const declare = "add it to the schema in the CustomResourceDefinition, or leave it out of the status"
	tests := map[string]struct {
		parent, status string
		foreign        bool
		want           []string
	}{
		"a known field": {parent: web, status: `{"ready":1}`},
		"an unknown one": {parent: web, status: `{"ready":1,"foo":1}`,
			want: []string{"Web default/shop: the cluster does not know the field status.foo and drops it; " + declare}},
		"a misspelled one": {parent: web, status: `{"reddy":1}`,
			want: []string{"Web default/shop: the cluster does not know the field status.reddy and drops it; did you mean status.ready? If not, " + declare}},
		"a status that the type has not": {parent: fleet, status: `{"ready":1}`,
			want: []string{"Fleet shop: the cluster does not know the field status and drops it; " + declare}},
		"a foreign status": {parent: web, status: `{"foo":1}`, foreign: true,
			want: []string{"Web default/shop: the cluster does not know the field status.foo and drops it; " +
				string(adviceForForeign)}},
		"none":                           {parent: web},
		"none of a type that has none":   {parent: fleet},
		"an empty one of such a type":    {parent: fleet, status: `{}`},
		"only what is added to each one": {parent: fleet, status: `{"observedGeneration":2}`},
	}
	for name, test := range tests {
		for _, kind := range []string{"composite", "decorator"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				w := newWorld(t, test.parent).withSubresource(true)
				w.decorates = kind == "decorator"
				w.schemas[w.parentType] = described(t, w.parentType)
				snapshot := w.snapshot()
				snapshot.ForeignStatus = test.foreign
				plan := Composite
				if w.decorates {
					plan = Decorator
				}
				response := &pipeline.Response{}
				if test.status != "" {
					response.Status = []byte(test.status)
				}
				for range 2 {
					planned, err := plan(snapshot, response, w.strategies, &w.upToDate)
					if err != nil {
						t.Fatal(err)
					}
					checkWarned(t, planned, test.want...)
				}
			})
		}
	}
}

func TestAFieldOfTheStatusThatBecomesKnownIsWritten(t *testing.T) {
	worlds := map[string]*world{
		"a parent": newWorld(t, web).withSubresource(true),
		"a target": newTarget(t, web).withSubresource(true),
		"a target whose status is no subresource": newTarget(t, web).withSubresource(false),
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			w.schemas[w.parentType] = described(t, webs)
			answer := w.answer()
			answer.Status = []byte(`{"foo":1}`)
			written := stepFor(t, w.plan(answer), "shop")
			w.upToDate.Wrote([]pipeline.Outcome{{Step: written, Result: w.parent}}) // the host has dropped the field
			if planned := w.plan(answer); len(planned.Steps) != 0 || len(planned.Warnings) != 1 {
				t.Fatalf("before, the steps are %v and the warnings %v", steps(planned), planned.Warnings)
			}
			w.schemas[w.parentType] = described(t, pods) // any field of its status is known
			w.schemasVersion++
			if planned := w.plan(answer); len(planned.Steps) != 1 || len(planned.Warnings) != 0 {
				t.Errorf("after, the steps are %v and the warnings %v", steps(planned), planned.Warnings)
			}
		})
	}
}

// A hook that works with two versions of a schema may send a field under its old name and its new one.
func TestAFieldThatBecomesKnownIsWrittenThoughAnotherBecomesUnknown(t *testing.T) {
	t.Run("of a child", func(t *testing.T) {
		w := newWorld(t, web, deployments).method(InPlace)
		w.schemas[deployments] = described(t, deployments)
		answer := w.answer(deployment("a", "paused: true, hostNetwork: true"))
		w.defaults = func(content map[string]any) { delete(content["spec"].(map[string]any), "hostNetwork") }
		w.carryOut(w.plan(answer))
		if diff := cmp.Diff([]string(nil), writes(w.plan(answer))); diff != "" {
			t.Fatalf("before, writes (-want +got):\n%s", diff)
		}
		w.schemas[deployments] = described(t, pods) // which has hostNetwork, and not paused
		w.schemasVersion++
		if diff := cmp.Diff([]string{"update Deployment default/a"}, writes(w.plan(answer))); diff != "" {
			t.Errorf("after, writes (-want +got):\n%s", diff)
		}
	})
	t.Run("of the status", func(t *testing.T) {
		w := newWorld(t, web).withSubresource(true)
		w.schemas[w.parentType] = described(t, webs)
		answer := w.answer()
		answer.Status = []byte(`{"ready":1,"readyReplicas":1}`)
		w.upToDate.Wrote([]pipeline.Outcome{{Step: stepFor(t, w.plan(answer), "shop"), Result: w.parent}}) // the host has dropped the field
		if planned := w.plan(answer); len(planned.Steps) != 0 {
			t.Fatalf("before, the steps are %v", steps(planned))
		}
		w.schemas[w.parentType] = described(t, deployments) // whose status has readyReplicas, and not ready
		w.schemasVersion++
		if planned := w.plan(answer); len(planned.Steps) != 1 {
			t.Errorf("after, the steps are %v", steps(planned))
		}
	})
}

func TestWhatIsDesiredIsSearchedOnce(t *testing.T) {
	w := newWorld(t, web, deployments)
	answer := w.answer(deployment("a", "replica: 5"))
	checkWarned(t, w.plan(answer))
	w.schemas[deployments] = described(t, deployments)
	checkWarned(t, w.plan(answer), fmt.Sprintf(replicaIsUnknown, "a"))
	w.schemas[deployments] = described(t, pods)
	checkWarned(t, w.plan(answer), fmt.Sprintf(replicaIsUnknown, "a"))
	w.schemasVersion++
	checkWarned(t, w.plan(answer), "Deployment default/a: the cluster does not know the field spec.replica and drops it; check its spelling and its place")
	for i := range 20 {
		w.plan(w.answer(deployment("a", fmt.Sprint("replicas: ", i))))
		if known := len(w.upToDate.unknown.found); known > 2 {
			t.Fatalf("after %d answers, %d are remembered", i, known)
		}
	}
}

func TestWriteWarnings(t *testing.T) {
	child := func(name string, warnings ...string) pipeline.Outcome {
		return pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Update, Type: deployments, Namespace: "default", Name: name}, Warnings: warnings}
	}
	status := func(status string, warnings ...string) pipeline.Outcome {
		return pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Status, Type: webs, Namespace: "default", Name: "shop", Body: []byte(`{"status":` + status + `}`)}, Warnings: warnings}
	}
	const replica = `unknown field "spec.replica"`
	tests := map[string]struct {
		outcomes []pipeline.Outcome
		planned  []pipeline.Warning
		want     []string
	}{
		"none":                {[]pipeline.Outcome{child("a")}, nil, nil},
		"of an unknown field": {[]pipeline.Outcome{child("a", replica)}, nil, []string{"UnknownField Deployment default/a: the cluster does not know the field spec.replica and drops it; check its spelling and its place"}},
		"of an unknown field of a described type": {[]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Update, Type: deployments, Namespace: "default", Name: "a", Schema: described(t, deployments)}, Warnings: []string{replica}}}, nil,
			[]string{"UnknownField Deployment default/a: the cluster does not know the field spec.replica and drops it; did you mean spec.replicas?"}},
		"of several children": {[]pipeline.Outcome{child("a", replica, "it is old"), child("b", "it is old", replica)}, nil, []string{
			"UnknownField Deployment default/a and 1 more: the cluster does not know the field spec.replica and drops it; check its spelling and its place",
			"ClusterWarning Deployment default/a and 1 more: the cluster warns: it is old"}},
		"of a field that the plan warns of": {[]pipeline.Outcome{child("a", replica, `unknown field "spec.other"`)},
			[]pipeline.Warning{pipeline.UnknownFieldWarning(deployments.GroupKind(), "spec.replica", "did you mean spec.replicas?")},
			[]string{"UnknownField Deployment default/a: the cluster does not know the field spec.other and drops it; check its spelling and its place"}},
		"of the status": {[]pipeline.Outcome{status(`{"foo":1}`, `unknown field "status.foo"`, `unknown field "status.observedGeneration"`)}, nil,
			[]string{"UnknownField Web default/shop: the cluster does not know the field status.foo and drops it; add it to the schema in the CustomResourceDefinition, or leave it out of the status"}},
		"of a status that the type has not": {[]pipeline.Outcome{status(`{"foo":1,"observedGeneration":1}`, `unknown field "status"`)}, nil,
			[]string{"UnknownField Web default/shop: the cluster does not know the field status and drops it; add it to the schema in the CustomResourceDefinition, or leave it out of the status"}},
		"of a status that the hook has not answered": {[]pipeline.Outcome{status(`{"observedGeneration":1}`, `unknown field "status"`)}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, warning := range WriteWarnings(&pipeline.Snapshot{}, &pipeline.Plan{Warnings: test.planned}, test.outcomes) {
				got = append(got, string(warning.Reason)+" "+warning.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// Schemas do not describe every type. What the host said when it was written is known from then on.
func TestAnUnknownFieldThatTheHostToldStaysAWarning(t *testing.T) {
	w := newWorld(t, web, deployments).method(InPlace)
	answer := w.answer(deployment("a", "replica: 5"))
	planned := w.plan(answer)
	checkWarned(t, planned)
	w.upToDate.Wrote([]pipeline.Outcome{{Step: stepFor(t, planned, "a"), Warnings: []string{`unknown field "spec.replica"`}}})
	for range 2 {
		checkWarned(t, w.plan(answer), "Deployment default/a: the cluster does not know the field spec.replica and drops it; check its spelling and its place")
	}
	checkWarned(t, w.plan(w.answer(deployment("a", "replicas: 5"))))
}

// A child that the cluster has warned of stays as it is, so nothing is written that would have it warn again.
func TestAWarningOfTheHostStaysWhileTheSameIsWanted(t *testing.T) {
	w := newWorld(t, web, deployments).method(InPlace)
	answer := w.answer(deployment("a", "replicas: 5"))
	step := stepFor(t, w.plan(answer), "a")
	stored := w.applied(deployments, deployment("a", "replicas: 5"), deployment("a", "replicas: 5"))
	w.upToDate.Wrote([]pipeline.Outcome{{Step: step, Result: stored, Warnings: []string{"it is old"}}})
	var warnings []pipeline.Warning
	for range 2 {
		warnings = w.plan(answer).Warnings
		if len(warnings) != 1 || warnings[0].Reason != v1alpha1.ReasonClusterWarning || warnings[0].Message != "Deployment default/a: the cluster warns: it is old" {
			t.Fatalf("the warnings are %+v", warnings)
		}
	}
	again := WriteWarnings(&pipeline.Snapshot{}, &pipeline.Plan{Warnings: warnings}, []pipeline.Outcome{{Step: step, Warnings: []string{"it is old"}}})
	if len(again) > 0 {
		t.Errorf("it is told again: %+v", again)
	}
	if warnings := w.plan(w.answer(deployment("a", "replicas: 6"))).Warnings; len(warnings) > 0 {
		t.Errorf("of another child, the warnings are %+v", warnings)
	}
	w.plan(answer)
	w.upToDate.Wrote([]pipeline.Outcome{{Step: step, Result: stored}})
	if warnings := w.plan(answer).Warnings; len(warnings) > 0 {
		t.Errorf("the cluster no longer warns, but the warnings are %+v", warnings)
	}
}

func TestWarningsOfTheHostDoNotGrow(t *testing.T) {
	w := newWorld(t, web, deployments).method(InPlace)
	for i := range 50 {
		answer := w.answer(deployment("a", fmt.Sprint("replicas: ", i)))
		w.upToDate.Wrote([]pipeline.Outcome{{Step: stepFor(t, w.plan(answer), "a"), Warnings: []string{"it is old"}}})
		w.plan(answer)
		if known := len(w.upToDate.hostWarnings); known > 2 {
			t.Fatalf("after sync %d, %d are remembered", i, known)
		}
	}
}

func TestNotEachOfManyWarningsOfTheHostIsShown(t *testing.T) {
	w := newWorld(t, web, deployments).method(InPlace)
	var texts []string
	for i := range maxHostWarnings + 3 {
		texts = append(texts, fmt.Sprint("it is old: ", i))
	}
	answer := w.answer(deployment("a", "replicas: 5"))
	outcomes := []pipeline.Outcome{{Step: stepFor(t, w.plan(answer), "a"), Warnings: texts}}
	w.upToDate.Wrote(outcomes)
	for when, warnings := range map[string][]pipeline.Warning{
		"when it is written": WriteWarnings(&pipeline.Snapshot{}, &pipeline.Plan{}, outcomes),
		"later":              w.plan(answer).Warnings,
	} {
		if len(warnings) != maxHostWarnings+1 {
			t.Fatalf("%s, there are %d warnings", when, len(warnings))
		}
		const rest = "the cluster returns 3 more warnings, which appear after the others are resolved"
		if last := warnings[maxHostWarnings]; last.Reason != v1alpha1.ReasonClusterWarning || last.Message != rest {
			t.Errorf("%s, the last warning is %+v", when, last)
		}
	}
}
