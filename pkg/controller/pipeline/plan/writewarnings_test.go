// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
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
