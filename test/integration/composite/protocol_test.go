// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// version sets the protocol version of the sync hook.
func version(version v1alpha1.HookVersion) change {
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync.Version = &version }
}

// waitForKeys waits until the last request about a parent has ConfigMaps under these keys.
func (f *fixture) waitForKeys(parent string, keys ...string) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		var last []string
		for _, call := range f.Hook.Calls() {
			var asked request
			if err := call.Decode(&asked); err != nil {
				return err
			}
			if asked.Parent.GetName() == parent {
				last = slices.Sorted(maps.Keys(asked.Children["ConfigMap.v1"]))
			}
		}
		if !slices.Equal(last, keys) {
			return fmt.Errorf("the hook was last sent ConfigMaps %q of %s, want %q", last, parent, keys)
		}
		return nil
	})
}

// The version can be changed while the controller runs.
func TestProtocolVersionsOfANamespacedParent(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), version(v1alpha1.HookVersionV2))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.waitForKeys("a", f.Namespace+"/a")

	f.PatchController(object{"spec": object{"hooks": object{"sync": object{"version": "v1"}}}})
	f.waitForKeys("a", "a")
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
}

// A misspelt field deletes all children, as with Metacontroller, unless answers are decoded
// strictly.
func TestQ32MisspeltChildrenDeleteUnlessReadStrictly(t *testing.T) {
	t.Parallel()
	for speaks, says := range map[v1alpha1.HookVersion]string{ // empty if the children are deleted
		v1alpha1.HookVersionV1: "",
		v1alpha1.HookVersionV2: `unknown field "chlidren" (did you mean "children"?); with version: v2, unknown`,
	} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, oneConfigMap), version(speaks))
			f.CreateParent("a", object{"value": "1"})
			f.WaitForConfigMap("a", harness.HasData("value", "1"))
			f.Hook.Handle(answers(t, func(asked request) object {
				answer := oneConfigMap(asked)
				return object{"status": answer["status"], "chlidren": answer["children"]}
			}))
			f.PatchParent("a", object{"spec": object{"value": "2"}})
			if says == "" {
				f.WaitUntilConfigMapIsGone("a")
				env.WaitForEvent(t, f.Namespace, "a", "ChildrenDeleted", `The server ignores its field "chlidren": did you mean "children"?`)
				return
			}
			env.WaitForEvent(t, f.Namespace, "a", "SyncError", says)
			f.WaitForConfigMap("a", harness.HasData("value", "1"))
		})
	}
}

func TestQ38OfChildrenListedTwiceTheLastCounts(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object {
		return object{"children": []object{
			hook.ConfigMap("a", object{"value": "first"}), hook.ConfigMap("b", object{"value": "1"}), hook.ConfigMap("a", object{"value": "last"}),
		}}
	}))
	f.CreateParent("p", object{})
	f.WaitForConfigMap("a", harness.HasData("value", "last"))
	f.WaitForConfigMap("b", harness.HasData("value", "1"))
	event := env.WaitForEvent(t, f.Namespace, "p", "DuplicateChild", "ConfigMap "+f.Namespace+"/a")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("the event should be a Warning, but is %s", event.Type)
	}
}

// Metacontroller panics, again after each restart.
func TestQ1ANullChildIsTheErrorOfOneParent(t *testing.T) {
	t.Parallel()
	f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		if asked.Parent.GetName() == "bad" {
			return hook.Text(http.StatusOK, `{"children":[null]}`)
		}
		return hook.JSON(oneConfigMap(asked))
	})
	f.CreateParent("bad", object{})
	env.WaitForEvent(t, f.Namespace, "bad", "SyncError", `children[0] is null`)
	f.CreateParent("good", object{"value": "1"})
	f.WaitForConfigMap("good", harness.HasData("value", "1"))
}
