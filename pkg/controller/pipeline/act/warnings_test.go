// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestAnOutcomeHasTheWarningsOfItsWrite(t *testing.T) {
	tests := map[string]struct {
		step pipeline.Step
		want []string
	}{
		"a new child":       {step(t, pipeline.Create, "a"), []string{"it is old"}},
		"an existing child": {step(t, pipeline.Update, "a"), []string{"it is old"}},
		"the status":        {step(t, pipeline.Status, ""), []string{"it is old"}},
		"no write of a child that a dry run leaves alone": {func() pipeline.Step {
			s := step(t, pipeline.Recreate, "a")
			s.Observed = parsed(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stored","uid":"u","resourceVersion":"9"}}`)
			s.Name, s.Body, s.Successor = "stored", []byte(`{}`), nil
			return s
		}(), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, nil)
			api.warning = "it is old"
			outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{test.step}})
			if len(outcomes) != 1 || outcomes[0].Err != nil || !slices.Equal(outcomes[0].Warnings, test.want) {
				t.Errorf("outcomes are %+v after %q, want the warnings %q", outcomes, api.seen(), test.want)
			}
		})
	}
}
