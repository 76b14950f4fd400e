// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The script of docs/gitops.md tells Argo CD how a controller is. Argo CD runs it with the same interpreter.
func TestTheHealthThatArgoCDIsToldOf(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"no status yet":                       {`{metadata: {generation: 1}}`, "Progressing"},
		"the status of an earlier generation": {`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`, "Progressing"},
		"it runs":                             {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", message: m}]}}`, "Healthy m"},
		"it does not run":                     {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", message: m}]}}`, "Degraded m"},
		"it is not known":                     {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: Unknown, message: m}]}}`, "Progressing m"},
		"it is paused":                        {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Paused, status: "True", message: p}, {type: Ready, status: "True", message: m}]}}`, "Suspended p"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
				t.Fatal(err)
			}
			if got := argoHealth(t, object); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// argoHealth returns the status and the message of the health that Argo CD shows of a controller.
func argoHealth(t *testing.T, object map[string]any) string {
	t.Helper()
	status, message, err := ArgoHealth(object)
	if err != nil {
		t.Fatal(err)
	}
	return status + " " + message
}
