// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// A sync whose answer has not changed sends no requests to the host: no write, and no read of the
// parent.
func TestQuietSyncsLeaveTheHostAlone(t *testing.T) {
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) { testQuietSyncs(t, applied(engine)) })
	}
}

func testQuietSyncs(t *testing.T, engine change) {
	const parents, children = 20, 5
	f := start(t, answers(t, func(asked request) object {
		var desired []object
		for i := range children {
			desired = append(desired, hook.ConfigMap(fmt.Sprintf("%s-%d", asked.Parent.GetName(), i), object{"number": fmt.Sprint(i)}))
		}
		return object{"status": object{"children": len(asked.Children["ConfigMap.v1"])}, "children": desired}
	}), engine)
	for i := range parents {
		f.CreateParent(fmt.Sprintf("p%d", i), object{})
	}
	for i := range parents {
		env.Eventually(t, func(ctx context.Context) error {
			return f.statusIs(ctx, fmt.Sprintf("p%d", i), object{"children": int64(children), "observedGeneration": int64(1)})
		})
	}
	f.waitUntilSeenByHook(parents, func(parent *unstructured.Unstructured) bool {
		seen, _, _ := unstructured.NestedInt64(parent.Object, "status", "children")
		return seen == children
	})

	from := env.AuditEnd(t)
	for round := range 2 {
		touch := fmt.Sprint(round)
		for i := range parents {
			f.PatchParent(fmt.Sprintf("p%d", i), object{"metadata": object{"annotations": object{"touched": touch}}})
		}
		f.waitUntilSeenByHook(parents, func(parent *unstructured.Unstructured) bool {
			return parent.GetAnnotations()["touched"] == touch
		})
	}
	env.ExpectNoRequests(f, from, hostcluster.Request{Verbs: hostcluster.Writes(), Namespace: f.Namespace})
	env.ExpectNoRequests(f, from, hostcluster.Request{Verbs: []string{"get", "list", "watch"}, Namespace: f.Namespace})
	env.ExpectNoRequests(f, from, hostcluster.Request{
		Verbs: []string{"get"}, Group: f.Parents.Group, Resource: f.Parents.Resource,
	})
}

// waitUntilSeenByHook waits until the hook was sent all parents in a state.
func (f *fixture) waitUntilSeenByHook(parents int, state func(*unstructured.Unstructured) bool) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		seen := map[string]bool{}
		for _, call := range f.Hook.Calls() {
			var asked request
			if err := call.Decode(&asked); err != nil {
				return err
			}
			if state(&asked.Parent) {
				seen[asked.Parent.GetName()] = true
			}
		}
		if len(seen) < parents {
			return fmt.Errorf("the hook has seen %d of %d parents in their last state", len(seen), parents)
		}
		return nil
	})
}
