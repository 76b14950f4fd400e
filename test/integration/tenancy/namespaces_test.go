// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// askedIn returns the namespaces of the parents that hooks were called about.
func (f *fixture) askedIn() []string {
	f.Helper()
	var namespaces []string
	for _, call := range f.Hook.Calls() {
		var asked composite
		if err := call.Decode(&asked); err != nil {
			f.Fatal(err)
		}
		namespaces = append(namespaces, asked.Parent.GetNamespace())
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// hasStatus accepts a parent whose status was written.
func hasStatus(parent *unstructured.Unstructured) error {
	if parent.Object["status"] == nil {
		return errors.New("the parent has no status")
	}
	return nil
}

func TestParentsOutsideOfTheNamespacesAreNotHandled(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(asked composite) object { return object{"children": configMapOf(&asked.Parent)} }))
	who, elsewhere := f.newAccount(), f.in(env.Namespace(t))
	f.mayWriteParents(who)
	f.mayWriteChildren(who)
	f.RunComposite(f.CompositeSpec(withFinalize, limited(who, f.Namespace)))
	elsewhere.CreateParent("a", object{"value": "1"})
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	// The parent outside came first; it would have been synced before this one.
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	if asked := f.askedIn(); !slices.Equal(asked, []string{f.Namespace}) {
		t.Errorf("the hook was asked about parents in %q, want %q", asked, f.Namespace)
	}
	elsewhere.WaitForFinalizers("a")
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Total != 1 {
			return fmt.Errorf("the status counts %+v", status.Parents)
		}
		return nil
	})
}

func TestAChildOutsideOfTheNamespacesIsAnError(t *testing.T) {
	t.Parallel()
	outside := env.Namespace(t)
	f := prepare(t, hook.Answering(t, func(composite) object {
		child := hook.ConfigMap("stray", object{})
		child["metadata"].(object)["namespace"] = outside
		return object{"children": []object{child}}
	}))
	who := f.newAccount()
	f.mayWriteParents(who)
	f.mayWriteChildren(who)
	f.RunComposite(f.CompositeSpec(limited(who, f.Namespace)))
	f.CreateParent("a", object{})
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", "is not in the namespace of its parent")
	if f.in(outside).HasConfigMap("stray") {
		t.Error("the child was created")
	}
}

// The customize hook answers the rule in the parent's spec.rule.
func TestRelatedObjectsAreThoseOfTheNamespaces(t *testing.T) {
	t.Parallel()
	f := prepare(t, func(_ context.Context, call hook.Call) hook.Answer {
		var asked composite
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		if call.Path != harness.CustomizePath {
			return hook.JSON(object{})
		}
		rule, _, _ := unstructured.NestedMap(asked.Parent.Object, "spec", "rule")
		return hook.JSON(object{"relatedResources": []object{rule}})
	})
	outside := f.in(env.Namespace(t))
	for _, one := range []*fixture{f, outside} {
		env.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: related, namespace: "+one.Namespace+"}}")
	}
	who := f.newAccount()
	f.mayWriteParents(who)
	f.RunComposite(f.CompositeSpec(limited(who, f.Namespace), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
		spec.Hooks.Customize.Version, spec.Hooks.Sync.Version = ptr.To(v1alpha1.HookVersionV2), ptr.To(v1alpha1.HookVersionV2)
	}))
	f.CreateParent("anywhere", object{"rule": object{"apiVersion": "v1", "resource": "configmaps", "names": []any{"related"}}})
	f.CreateParent("elsewhere", object{"rule": object{"apiVersion": "v1", "resource": "configmaps", "namespace": outside.Namespace}})
	f.CreateParent("cluster-scoped", object{"rule": object{"apiVersion": "v1", "resource": "namespaces"}})
	env.WaitForEvent(t, f.Namespace, "elsewhere", "SyncError",
		fmt.Sprintf("namespace %q is not one of spec.namespaces, which limits the controller to %s", outside.Namespace, f.Namespace))
	env.WaitForEvent(t, f.Namespace, "cluster-scoped", "SyncError", "and Namespace.v1 is cluster-scoped")
	env.Eventually(t, func(context.Context) error {
		calls := hook.Requests[composite](t, f.Hook, harness.SyncPath, "anywhere")
		if len(calls) == 0 {
			return errors.New("the sync hook was not called")
		}
		if shown := slices.Collect(maps.Keys(calls[0].Related["ConfigMap.v1"])); !slices.Equal(shown, []string{f.Namespace + "/related"}) {
			t.Fatalf("it was shown %q", shown)
		}
		return nil
	})
}

func TestANamespaceThatIsTakenOffTheListLetsGoOfItsParents(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(asked composite) object {
		return object{"children": configMapOf(&asked.Parent), "finalized": true}
	}))
	who, former := f.newAccount(), f.in(env.Namespace(t))
	for _, one := range []*fixture{f, former} {
		one.mayWriteParents(who)
		one.mayWriteChildren(who)
	}
	f.RunComposite(f.CompositeSpec(withFinalize, limited(who, f.Namespace, former.Namespace)))
	former.Controller = f.Controller
	for _, one := range []*fixture{f, former} {
		one.CreateParent("a", object{"value": "1"})
		one.WaitForFinalizers("a", f.Finalizer())
		one.WaitForConfigMap("a", harness.HasData("value", "1"))
		one.WaitForParent("a", hasStatus) // the last write of a sync
	}
	from := env.AuditEnd(t)
	f.PatchController(object{"spec": object{"namespaces": []string{f.Namespace}}})
	former.WaitForFinalizers("a")
	env.WaitForEvent(t, former.Namespace, "a", "NotFinalized", "The children stay as they are")
	former.expectWritesAs(from, who, "update parents")
	if !former.HasConfigMap("a") {
		t.Error("its child is gone")
	}
	f.WaitForFinalizers("a", f.Finalizer())
	if calls := hook.Requests[composite](t, f.Hook, harness.FinalizePath, "a"); len(calls) > 0 {
		t.Errorf("the finalize hook was called about %s", calls[0].Parent.GetNamespace())
	}

	// And back: it is a parent again.
	f.PatchController(object{"spec": object{"namespaces": nil}})
	former.WaitForFinalizers("a", f.Finalizer())
}

func TestANamespaceThatIsTakenOffTheListIsToldToParentsWithoutAFinalizer(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(composite) object { return object{} }))
	who := f.newAccount()
	f.mayWriteParents(who)
	f.RunComposite(f.CompositeSpec(limited(who)))
	f.CreateParent("a", object{})
	f.WaitForParent("a", hasStatus)
	f.PatchController(object{"spec": object{"namespaces": []string{"elsewhere"}}})
	env.WaitForEvent(t, f.Namespace, "a", "NoLongerSelected", "the server stops syncing it")
}

func TestAClusterScopedTypeCannotBeLimitedToNamespaces(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(composite) object { return object{} }))
	f.RunComposite(f.CompositeSpec(limited(f.newAccount(), f.Namespace), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = append(spec.ChildResources, harness.ChildRule("v1", "namespaces", v1alpha1.ChildUpdateInPlace))
	}))
	f.WaitForReady(metav1.ConditionFalse, "InvalidSpec")
}
