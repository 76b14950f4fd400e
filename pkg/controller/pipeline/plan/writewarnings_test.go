// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
		if len(warnings) != 1 || warnings[0].Reason != pipeline.ClusterWarning || warnings[0].Message != "Deployment default/a: the cluster warns: it is old" {
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
		const rest = "the cluster gives 3 more warnings; they are shown when others are resolved"
		if last := warnings[maxHostWarnings]; last.Reason != pipeline.ClusterWarning || last.Message != rest {
			t.Errorf("%s, the last warning is %+v", when, last)
		}
	}
}
