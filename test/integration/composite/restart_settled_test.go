// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"slices"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// restartedWith restarts the server with more flags, after something was done while it was stopped. It returns the
// function that restarts it without.
func restartedWith(t *testing.T, meanwhile func(), flags ...string) (end func()) {
	t.Helper()
	before := env.Server.Args
	env.StopServer(t)
	meanwhile()
	env.Server.Args = append(slices.Clone(before), flags...)
	env.StartServer(t)
	return func() {
		env.StopServer(t)
		env.Server.Args = before
		env.StartServer(t)
	}
}

// updatedBy has the ConfigMaps of a controller updated by a method.
func updatedBy(method v1alpha1.ChildUpdateMethod) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources[0].UpdateStrategy = &v1alpha1.CompositeControllerChildUpdateStrategy{Method: method}
	}
}

// A server remembers which parents it has left settled. When it starts again, it calls the hook only about what
// has changed meanwhile, also about the others if --sync-all-on-start says so.
func TestARestartCallsTheHookOnlyAboutWhatHasChanged(t *testing.T) {
	variants := map[string]change{
		"in place":             updatedBy(v1alpha1.ChildUpdateInPlace),
		"by server-side apply": byServerSideApply,
		"by rolling in place":  updatedBy(v1alpha1.ChildUpdateRollingInPlace),
		"with status ignored":  func(spec *v1alpha1.CompositeControllerSpec) { spec.ParentResource.IgnoreStatusChanges = new(true) },
	}
	fixtures, calls := map[string]*fixture{}, map[string]int{}
	for name, change := range variants {
		f := start(t, answers(t, oneConfigMap), change)
		for _, parent := range []string{"settled", "edited", "robbed"} {
			f.CreateParent(parent, object{"value": "1"})
			f.WaitForConfigMap(parent, harness.HasData("value", "1"))
			f.Settle(parent)
		}
		fixtures[name] = f
	}
	// aboutSettled returns how often the hook was called about the settled parent since the last restart, before
	// it was touched.
	aboutSettled := func(name string) (count int) {
		f := fixtures[name]
		touched := ""
		if parent, err := f.GetParent(t.Context(), "settled"); err != nil {
			t.Fatal(err)
		} else {
			touched = parent.GetAnnotations()[f.TouchAnnotation()]
		}
		f.Settle("settled")
		for _, call := range f.Hook.Calls()[calls[name]:] {
			var asked request
			if err := call.Decode(&asked); err != nil {
				t.Fatal(err)
			}
			if asked.Parent.GetName() == "settled" && asked.Parent.GetAnnotations()[f.TouchAnnotation()] == touched {
				count++
			}
		}
		return count
	}

	env.StopServer(t)
	for name, f := range fixtures {
		calls[name] = len(f.Hook.Calls())
		f.PatchParent("edited", object{"spec": object{"value": "2"}})
		f.DeleteConfigMap("robbed")
		f.CreateParent("new", object{"value": "1"})
	}
	env.StartServer(t)
	for name, f := range fixtures {
		f.WaitForConfigMap("edited", harness.HasData("value", "2"))
		f.WaitForConfigMap("robbed", harness.HasData("value", "1"))
		f.WaitForConfigMap("new", harness.HasData("value", "1"))
		if count := aboutSettled(name); count != 0 {
			t.Errorf("%s: the hook was called %d times about a parent that nobody has changed", name, count)
		}
		f.PatchParent("settled", object{"spec": object{"value": "2"}})
		f.WaitForConfigMap("settled", harness.HasData("value", "2"))
		f.Settle("settled")
	}

	defer restartedWith(t, func() {
		for name, f := range fixtures {
			calls[name] = len(f.Hook.Calls())
		}
	}, "--sync-all-on-start")()
	for name, f := range fixtures {
		f.WaitForCalls(calls[name] + 4) // one about each parent
		if count := aboutSettled(name); count == 0 {
			t.Errorf("%s: the hook was not called about a parent although all were to be synced", name)
		}
	}
}
