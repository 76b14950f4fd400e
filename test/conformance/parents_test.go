// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// A parent that is no longer selected keeps its children and its status, and its hook is not called any more.
func TestParentThatIsNoLongerSelectedIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(asked object) object {
		name, value := scenario.At(asked, "parent", "metadata", "name").(string), scenario.At(asked, "parent", "spec", "value")
		return object{"status": object{"value": value}, "children": list{hook.ConfigMap(name, object{"value": value})}}
	})
	s.Say("$SELECTOR", "labelSelector: {matchExpressions: [{key: skip, operator: DoesNotExist}]}")
	s.Create(things + "\n---\n" + aThing + `spec: {value: "1"}`)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
	s.Exists(theThing, scenario.Has("status", object{"value": "1", "observedGeneration": int64(1)}))
	s.Patch(theThing, `{metadata: {labels: {skip: me}}, spec: {value: "2"}}`)

	// Another parent shows that the change has arrived.
	s.Create(strings.Replace(aThing, "name: a,", "name: b,", 1) + `spec: {value: "1"}`)
	s.Exists(ref{APIVersion: "$Thing", Kind: "Thing", Namespace: "$NAMESPACE", Name: "b"}, scenario.Has("status.observedGeneration", int64(1)))
	// Its child shows that those of children arrive.
	for _, name := range []string{"a", "b"} {
		s.Patch(scenario.ConfigMap(name), `{data: {value: theirs}}`)
	}
	s.Exists(scenario.ConfigMap("b"), scenario.Has("data.value", "1"))
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "theirs"))
	s.Exists(theThing, scenario.Has("status", object{"value": "1", "observedGeneration": int64(1)}))
	for _, call := range s.Hook.Calls() {
		var asked object
		if err := call.Decode(&asked); err != nil {
			t.Fatal(err)
		}
		if scenario.At(asked, "parent", "metadata", "labels", "skip") != nil {
			t.Error("the hook was called about a parent that is not selected")
		}
	}
}

// A child of a cluster-scoped parent has to say which namespace it is in, unless it is in none.
func TestChildOfAClusterScopedParentNeedsANamespace(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.Define(harness.CRD{Kind: "Thing", ClusterScoped: true})
	s.Answers(answers{"/sync": func(object) object { return object{"children": list{hook.ConfigMap("a", nil)}} }})
	s.Create(things + "\n---\n" + strings.ReplaceAll(aThing, ", namespace: $NAMESPACE", ""))
	s.Event(ref{APIVersion: "$Thing", Kind: "Thing", Name: "a"}, "SyncError", "namespace")
}

// pruning is a kind whose schema drops what it does not know of the status, observedGeneration too.
const pruning = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.$NAME.example.com}
spec:
  group: $NAME.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties: {share: {type: number}, size: {type: string, default: small}}
`

// A status that the host stores otherwise than it was sent is written once, and not with every sync.
func TestStatusThatTheHostPrunesIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.Create(pruning)
	s.Say("$Thing", s.Unique+".example.com/v1")
	s.Answers(answers{"/sync": func(object) object {
		return object{"status": object{"share": 10.0, "unknown": "x"}}
	}})
	s.Create(things)
	env.Eventually(t, func(ctx context.Context) error {
		_, err := s.Get(ctx, theThing)
		if err != nil && !strings.Contains(err.Error(), `"a" not found`) {
			return fmt.Errorf("the kind is not served yet: %w", err)
		}
		return nil
	})
	s.Create(aThing)
	s.Exists(theThing, scenario.Has("status", object{"share": int64(10), "size": "small"}))
	s.Settle(theThing) // until the status that was written is seen as it is stored
	from := env.AuditEnd(t)
	s.Settle(theThing)
	s.Settle(theThing)
	writes, err := env.Host.Audit().Find(from, hostcluster.Request{
		User: harness.ServerUser, Verbs: hostcluster.Writes(), Namespace: s.Namespace, Group: s.Unique + ".example.com", Resource: "things",
	})
	if err != nil || len(writes) > 0 {
		t.Errorf("the status is written again %d times: %v", len(writes), err)
	}
}
