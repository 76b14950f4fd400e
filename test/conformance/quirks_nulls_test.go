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

// The host drops a null or replaces it by a default. That is no difference: a child with a null is
// neither written nor replaced with each sync.
func TestQ19NullsLeadToNoLoop(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"InPlace", "Recreate"} {
		t.Run(method, func(t *testing.T) {
			underBothEngines(t, func(t *testing.T, s *scenario.Scenario) {
				s.Define(harness.CRD{Kind: "Thing"})
				s.Say("$METHOD", method)
				s.Answers(answers{"/sync": func(asked object) object {
					child := hook.ConfigMap("a", object{"kept": scenario.At(asked, "parent", "spec", "kept"), "never": nil})
					child["immutable"], child["metadata"].(object)["annotations"] = nil, nil
					return object{"children": list{child}}
				}})
				s.Create(things + "\n---\n" + aThing + `spec: {kept: "1"}`)
				s.Exists(scenario.ConfigMap("a"), scenario.Has("data.kept", "1"))
				s.Patch(theThing, `{spec: {kept: "2"}}`)
				before := s.Exists(scenario.ConfigMap("a"), scenario.Has("data.kept", "2"))

				s.Settle(theThing)
				from := env.AuditEnd(t)
				for range 2 {
					s.Settle(theThing)
				}
				writes, err := env.Host.Audit().Find(from, hostcluster.Request{
					User: harness.ServerUser, Verbs: hostcluster.Writes(), Resource: "configmaps", Namespace: s.Namespace,
				})
				if err != nil || len(writes) > 0 {
					t.Errorf("the child is written to %d times, also when nothing changes: %v", len(writes), err)
				}
				if after := s.Exists(scenario.ConfigMap("a")); after.GetUID() != before.GetUID() {
					t.Error("the child was replaced")
				}
			})
		})
	}
}
