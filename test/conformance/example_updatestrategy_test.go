// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// updateStrategy runs a controller whose parents have one child with their value. Another client
// adds data to the child.
func updateStrategy(s *scenario.Scenario, method string) {
	s.Helper()
	s.Define(harness.CRD{Kind: "Thing"})
	s.Answers(answers{"/sync": func(asked object) object {
		value := scenario.At(asked, "parent", "spec", "configData")
		return object{"status": object{"observedConfigData": value}, "children": list{hook.ConfigMap("a", object{"value": value})}}
	}})
	s.Say("$METHOD", method)
	s.Create(things + "\n---\n" + aThing + `spec: {configData: v1}`)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "v1"))
	s.Patch(scenario.ConfigMap("a"), `{data: {theirs: kept}}`)
}

// In Metacontroller's example update-strategy, a child is not replaced because another client adds
// to it. After a change it is replaced exactly once.
func TestExampleUpdateStrategyRecreate(t *testing.T) {
	underBothEngines(t, func(t *testing.T, s *scenario.Scenario) {
		updateStrategy(s, "Recreate")
		s.Settle(theThing)
		first := s.Exists(scenario.ConfigMap("a"), scenario.Has("data", object{"value": "v1", "theirs": "kept"}))
		s.Patch(theThing, `{spec: {configData: v2}}`)
		second := s.Exists(scenario.ConfigMap("a"), scenario.Has("data", object{"value": "v2"}))
		if first.GetUID() == second.GetUID() {
			t.Error("the child was not replaced")
		}
		s.Settle(theThing)
		from := env.AuditEnd(t)
		s.Settle(theThing)
		if last := s.Exists(scenario.ConfigMap("a")); last.GetUID() != second.GetUID() {
			t.Error("the child was replaced again")
		}
		writes, err := env.Host.Audit().Find(from, hostcluster.Request{
			User: harness.ServerUser, Verbs: []string{"create", "update", "delete"}, Resource: "configmaps", Namespace: s.Namespace,
		})
		if err != nil || len(writes) > 0 {
			t.Errorf("the child was written to again: %v, %v", writes, err)
		}
	})
}

func TestExampleUpdateStrategyOnDelete(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		updateStrategy(s, "OnDelete")
		s.Patch(theThing, `{spec: {configData: v2}}`)
		s.Exists(theThing, scenario.Has("status.observedConfigData", "v2"))
		s.Settle(theThing)
		s.Exists(scenario.ConfigMap("a"), scenario.Has("data", object{"value": "v1", "theirs": "kept"}))
		s.Delete(scenario.ConfigMap("a"))
		s.Exists(scenario.ConfigMap("a"), scenario.Has("data", object{"value": "v2"}))
	})
}
