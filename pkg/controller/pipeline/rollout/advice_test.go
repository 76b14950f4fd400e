// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestWhatIsAdvisedAboutAFailedStatusCheck(t *testing.T) {
	const check = "spec.childResources[1].updateStrategy.statusChecks.conditions[0]"
	tests := map[string]struct{ check, status, want string }{
		"a type that the child has, with another status": {
			"Ready", `conditions: [{type: Ready, status: "False"}]`,
			`child Pod a failed status check: "Ready" condition status is "False" (want "True"); ` + check + " asks for that",
		},
		"a type like one that the child has": {
			"Redy", `conditions: [{type: Available, status: "True"}, {type: Ready, status: "True"}]`,
			check + `.type is "Redy", and Pod a has no such condition (it has only "Available", "Ready"): did you mean "Ready"?`,
		},
		"a type unlike all that the child has": {
			"Healthy", `conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True"}]`,
			check + `.type is "Healthy", and Pod a has no such condition (it has only "Available", "Progressing"): correct the type if it is misspelt`,
		},
		"a child without conditions": {
			"Ready", `phase: Running`, check + `.type is "Ready", and Pod a has no such condition (it has none): correct the type if it is misspelt`,
		},
		"a child with too many to list": {
			"Healthy", `conditions: [{type: A}, {type: B}, {type: C}, {type: D}, {type: E}, {type: F}, {type: G}, {type: H}, {type: I}, {type: J}, {type: K}, {type: L}]`,
			check + `.type is "Healthy", and Pod a has no such condition (it has only "A", "B", "C", "D", "E", "F", "G", "H", "I", "J" and 2 more): ` +
				"correct the type if it is misspelt",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := v1alpha1.StatusConditionCheck{Type: test.check, Status: ptr.To("True")}
			observed := parse(t, `{kind: Pod, metadata: {name: a}, status: {`+test.status+`}}`)
			child := &child{
				kind:     &Kind{Type: pods, Field: "spec.childResources[1].updateStrategy"},
				observed: observed, failed: &failedCheck{StatusConditionCheck: check, of: "Pod a", why: failure(observed, check)},
			}
			if got := child.advice(); got != test.want {
				t.Errorf("it says\n%s, want\n%s", got, test.want)
			}
		})
	}
	if got := (&child{}).advice() + (*child)(nil).advice(); got != "" {
		t.Errorf("about no check, it says %s", got)
	}
}

func TestADecisionAdvisesAboutTheCheckThatKeepsItWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		child  string
		advice bool
	}{
		"the child lacks the condition": {"Pod a v2 silent", true},
		"the child is missing":          {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "v2", "Pod a", "Pod b")
			w.has(apart(test.child, ", ")...)
			w.has("Pod b v1")
			w.remembers("v1: Pod b", "v2: Pod a")
			decision := w.decide()
			if !decision.Waits || (decision.Advice != "") != test.advice {
				t.Errorf("it waits: %v, and advises %q", decision.Waits, decision.Advice)
			}
		})
	}
}
