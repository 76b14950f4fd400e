// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// updatedBy has the ConfigMaps of a controller updated by a method.
func updatedBy(method v1alpha1.ChildUpdateMethod) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources[0].UpdateStrategy = &v1alpha1.CompositeControllerChildUpdateStrategy{Method: new(method)}
	}
}

// A server that starts calls the hook about each parent once, and writes only what has changed meanwhile.
func TestARestartSyncsEveryParentOnce(t *testing.T) {
	variants := map[string]change{
		"in place":             updatedBy(v1alpha1.ChildUpdateInPlace),
		"by server-side apply": byServerSideApply,
		"by rolling in place":  updatedBy(v1alpha1.ChildUpdateRollingInPlace),
		"with status ignored": func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.IgnoreStatusChanges = new(true)
		},
	}
	fixtures, calls := map[string]*fixture{}, map[string]int{} // calls about the parent that stays the same
	for name, change := range variants {
		f := start(t, answers(t, oneConfigMap), change)
		for _, parent := range []string{"same", "edited", "robbed"} {
			f.CreateParent(parent, object{"value": "1"})
			f.WaitForConfigMap(parent, harness.HasData("value", "1"))
			f.Settle(parent)
		}
		fixtures[name] = f
	}
	env.StopServer(t)
	for name, f := range fixtures {
		calls[name] = f.callsAbout("same")
		f.PatchParent("edited", object{"spec": object{"value": "2"}})
		f.DeleteConfigMap("robbed")
		f.CreateParent("new", object{"value": "1"})
	}
	from := env.AuditEnd(t)
	env.StartServer(t)
	for name, f := range fixtures {
		f.WaitForConfigMap("edited", harness.HasData("value", "2"))
		f.WaitForConfigMap("robbed", harness.HasData("value", "1"))
		f.WaitForConfigMap("new", harness.HasData("value", "1"))
		f.waitForCallsAbout("same", calls[name]+1)
		f.Settle("edited") // whose first sync has written, so that it is synced last
		if count := f.callsAbout("same") - calls[name]; count != 1 {
			t.Errorf("%s: the hook was called %d times about a parent that has not changed, want once", name, count)
		}
		if lines := f.RequestLines(from, hostcluster.Request{Verbs: hostcluster.Writes(), Name: "same"}); len(lines) > 0 {
			t.Errorf("%s: a parent that has not changed, or its child, was written: %v", name, lines)
		}
	}
}
