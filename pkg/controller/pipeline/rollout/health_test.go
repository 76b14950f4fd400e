// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestStatusChecks(t *testing.T) {
	const ready = `conditions: [{type: Other}, {type: Ready, status: "True", reason: Started}, {type: Ready, status: "False"}]`
	tests := map[string]struct {
		status string
		check  v1alpha1.StatusConditionCheck
		want   string
	}{
		"a condition that is there":          {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready"}},
		"with the status and the reason":     {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready", Status: ptr.To("True"), Reason: ptr.To("Started")}},
		"with another status":                {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready", Status: ptr.To("False")}, want: `"Ready" condition status is "True" (want "False")`},
		"with another reason":                {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready", Status: ptr.To("True"), Reason: ptr.To("Done")}, want: `"Ready" condition reason is "Started" (want "Done")`},
		"without a status":                   {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Other", Status: ptr.To("True")}, want: `"Other" condition status is "" (want "True")`},
		"a condition that is not there":      {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Alive"}, want: `required condition type missing: "Alive"`},
		"no status":                          {status: ``, check: v1alpha1.StatusConditionCheck{Type: "Ready"}, want: `required condition type missing: "Ready"`},
		"conditions that are something else": {status: `conditions: {Ready: "True"}`, check: v1alpha1.StatusConditionCheck{Type: "Ready"}, want: `required condition type missing: "Ready"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failure(parse(t, `{kind: Pod, status: {`+test.status+`}}`), test.check); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhetherAStatusIsAboutTheLatestSpec(t *testing.T) {
	tests := map[string]struct {
		status string
		want   bool
	}{
		"of this generation":       {`{observedGeneration: 3}`, true},
		"of one before":            {`{observedGeneration: 2}`, false},
		"of one after":             {`{observedGeneration: 4}`, true},
		"that does not say":        {`{}`, true},
		"that says none":           {`{observedGeneration: 0}`, true},
		"that says something else": {`{observedGeneration: "2"}`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := isSpecObserved(parse(t, `{kind: Pod, metadata: {generation: 3}, status: `+test.status+`}`)); got != test.want {
				t.Errorf("it is: %v", got)
			}
		})
	}
}
