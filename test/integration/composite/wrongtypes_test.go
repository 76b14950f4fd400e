// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A value of the wrong type is a frequent slip. API servers tell it in the words of Go, and each
// engine in other ones.
func TestAValueOfTheWrongTypeIsToldInASentence(t *testing.T) {
	underBothEngines(t, func(t *testing.T, engine change) {
		container := func(fields string) string {
			return `{"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"a","image":"b"` + fields + `}]}},"selector":{"matchLabels":{"app":"x"}}}`
		}
		tests := map[string]struct {
			spec, field, want string
		}{
			"replicas":   {`{"replicas":"3"}`, "spec.replicas", "number, not a string (write it without quotes)"},
			"env-number": {container(`,"env":[{"name":"A","value":1}]`), ".value", "must be a string, not a number (write it in quotes)"},
			"env-bool":   {container(`,"env":[{"name":"A","value":true}]`), ".value", "must be a string, not a boolean (write it in quotes)"},
			"containers": {`{"template":{"spec":{"containers":{"name":"a"}}}}`, "spec.template.spec.containers", "must be a list, not an object"},
			"port":       {container(`,"readinessProbe":{"httpGet":{"port":true}}`), "", "must be a whole number, not a boolean"},
			"half":       {`{"replicas":1.5,` + container("")[1:], "", "must be a whole number"},
			"spec":       {`"x"`, "spec", "must be an object"},
		}
		f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
			var asked request
			if err := call.Decode(&asked); err != nil {
				t.Error(err)
			}
			name := asked.Parent.GetName()
			return hook.JSON(object{"children": []object{{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name}, "spec": json.RawMessage(tests[name].spec),
			}}})
		}, func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule("apps/v1", "deployments", v1alpha1.ChildUpdateInPlace)}
		}, engine)
		for name := range tests {
			f.CreateParent(name, object{})
		}
		for name, test := range tests {
			event := env.WaitForEvent(t, f.Namespace, name, "SyncError", test.want)
			if about := fmt.Sprintf("Deployment %s/%s: ", f.Namespace, name); !strings.Contains(event.Message, about) || !strings.Contains(event.Message, test.field+" must be") && test.field != "" {
				t.Errorf("the event about %s does not name %s and the field %s: %s", name, about, test.field, event.Message)
			}
			for _, word := range []string{"unmarshal", "Go ", "value.", "&{", "map[", "int32", "typed patch"} {
				if strings.Contains(event.Message, word) {
					t.Errorf("the event about %s says %q: %s", name, word, event.Message)
				}
			}
		}
	})
}
