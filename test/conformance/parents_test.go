// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// A parent that is no longer selected keeps its children and its status. The hook is no longer
// called about it.
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
	// Its child shows that changes of children have arrived.
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

// A namespaced child of a cluster-scoped parent must have a namespace.
func TestChildOfAClusterScopedParentNeedsANamespace(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.Define(harness.CRD{Kind: "Thing", ClusterScoped: true})
	s.Answers(answers{"/sync": func(object) object { return object{"children": list{hook.ConfigMap("a", nil)}} }})
	s.Create(things + "\n---\n" + strings.ReplaceAll(aThing, ", namespace: $NAMESPACE", ""))
	s.Event(ref{APIVersion: "$Thing", Kind: "Thing", Name: "a"}, "SyncError", "namespace")
}
