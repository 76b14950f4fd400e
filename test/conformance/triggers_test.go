// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// Each of these changes leads to a sync, and the hook is sent the change.
func TestWhatLeadsToASync(t *testing.T) {
	t.Parallel()
	orphan := `
apiVersion: v1
kind: ConfigMap
metadata: {name: orphan, namespace: $NAMESPACE, labels: {app: $APP}}
`
	tests := map[string]struct {
		do func(*scenario.Scenario)
		// seen reports whether a request shows the change.
		seen func(asked object) bool
	}{
		"a label of the parent": {
			func(s *scenario.Scenario) { s.Patch(theThing, `{metadata: {labels: {new: label}}}`) },
			func(asked object) bool { return scenario.At(asked, "parent", "metadata", "labels", "new") == "label" },
		},
		"the parent's status, written by somebody else": {
			func(s *scenario.Scenario) { s.Patch(theThing, `{status: {theirs: true}}`, "status") },
			func(asked object) bool { return scenario.At(asked, "parent", "status", "theirs") == true },
		},
		"a change of a child": {
			func(s *scenario.Scenario) { s.Patch(scenario.ConfigMap("a"), `{data: {theirs: x}}`) },
			func(asked object) bool {
				return scenario.At(asked, "children", "ConfigMap.v1", "a", "data", "theirs") == "x"
			},
		},
		"an orphan that matches": {
			func(s *scenario.Scenario) { s.Create(orphan) },
			func(asked object) bool { return scenario.At(asked, "children", "ConfigMap.v1", "orphan") != nil },
		},
		"an orphan that comes to match": {
			func(s *scenario.Scenario) {
				s.Say("$APP", "other")
				s.Create(orphan)
				s.Patch(scenario.ConfigMap("orphan"), `{metadata: {labels: {app: mine}}}`)
			},
			func(asked object) bool { return scenario.At(asked, "children", "ConfigMap.v1", "orphan") != nil },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, nil)
			s.Answers(answers{"/sync": func(asked object) object {
				child := hook.ConfigMap("a", nil)
				child["metadata"].(object)["labels"] = object{"app": "mine"}
				children := list{child}
				if scenario.At(asked, "children", "ConfigMap.v1", "orphan") != nil {
					kept := hook.ConfigMap("orphan", nil)
					kept["metadata"].(object)["labels"] = object{"app": "mine"}
					children = append(children, kept)
				}
				return object{"children": children, "status": object{"seen": scenario.At(asked, "children", "ConfigMap.v1", "a") != nil}}
			}})
			s.Say("$APP", "mine")
			s.Say("$GENERATE", "false")
			s.Create(things + "\n---\n" + aThing + `spec: {selector: {matchLabels: {app: mine}}}`)
			s.Exists(theThing, scenario.Has("status.seen", true))
			test.do(s)
			s.Env.Eventually(t, func(context.Context) error {
				for _, call := range s.Hook.Calls() {
					var asked object
					if err := call.Decode(&asked); err != nil {
						return err
					}
					if test.seen(asked) {
						return nil
					}
				}
				return fmt.Errorf("none of the %d calls of the hook shows it", len(s.Hook.Calls()))
			})
		})
	}
}

// An error is reported by an event. The sync is retried with growing delays.
func TestErrorsAreTriedAgainWithGrowingDelays(t *testing.T) {
	t.Parallel()
	s := withThings(t, nil)
	s.Hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(500, "not now") })
	s.Create(things + "\n---\n" + aThing)
	s.Called("/sync", 8)
	event := s.Event(theThing, "SyncError", "unsupported status code: 500 body: not now")
	if want := "Sync error: "; event.Message[:len(want)] != want || event.Type != "Warning" || event.Source.Component != "metacontroller" {
		t.Errorf("the event is %s of %s: %s", event.Type, event.Source.Component, event.Message)
	}
	calls := s.Hook.Calls()
	if delay := calls[7].At.Sub(calls[6].At); delay < 300*time.Millisecond {
		t.Errorf("the seventh retry came after %s, want 5 ms doubled six times", delay)
	}
}
