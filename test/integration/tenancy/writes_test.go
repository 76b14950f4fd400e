// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// writesAs returns which types a user has written in the fixture's namespace, and how, each once:
// "update things/status". Events are left out.
func (f *fixture) writesAs(from hostcluster.Position, user string) []string {
	f.Helper()
	events, err := env.Host.Audit().Find(from, hostcluster.Request{User: user, Namespace: f.Namespace, Verbs: hostcluster.Writes()})
	if err != nil {
		f.Fatal(err)
	}
	var writes []string
	for _, event := range events {
		of := event.ObjectRef.Resource
		if of == "events" {
			continue
		}
		if of == f.Parents.Resource {
			of = "parents"
		}
		if event.ObjectRef.Subresource != "" {
			of += "/" + event.ObjectRef.Subresource
		}
		writes = append(writes, event.Verb+" "+of)
	}
	slices.Sort(writes)
	return slices.Compact(writes)
}

// expectWritesAs checks that an account has written all this, and the server nothing.
func (f *fixture) expectWritesAs(from hostcluster.Position, who account, want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.writesAs(from, user(who))); diff != "" {
		f.Errorf("what was written as the account (-want +got):\n%s", diff)
	}
	if own := f.writesAs(from, harness.ServerUser); len(own) > 0 {
		f.Errorf("written as the server: %q", own)
	}
}

// playOneLife has a parent's child created, updated and deleted, and the parent finalized.
func (f *fixture) playOneLife() {
	f.Helper()
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.WaitForFinalizers("a", f.Finalizer())
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.PatchParent("a", object{"spec": object{"value": ""}})
	f.WaitUntilConfigMapIsGone("a")
	f.WaitForParent("a", func(parent *unstructured.Unstructured) error {
		if value, _, _ := unstructured.NestedString(parent.Object, "status", "value"); value != "none" {
			return fmt.Errorf("the status says %q", value)
		}
		return nil
	})
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
}

// statusOf is a status that shows the value of a parent.
func statusOf(parent *unstructured.Unstructured) object {
	if value := valueOf(parent); value != "" {
		return object{"value": value}
	}
	return object{"value": "none"}
}

func TestACompositeControllerWritesAsItsServiceAccount(t *testing.T) {
	t.Parallel()
	for engine, update := range map[v1alpha1.ChildApplyStrategy][]string{
		v1alpha1.ChildApplyDynamic:    {"create configmaps", "delete configmaps", "update configmaps", "update parents", "update parents/status"},
		v1alpha1.ChildApplyServerSide: {"delete configmaps", "patch configmaps", "update parents", "update parents/status"},
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			f := prepare(t, hook.Answering(t, func(asked composite) object {
				return object{"status": statusOf(&asked.Parent), "children": configMapOf(&asked.Parent), "finalized": true}
			}))
			who, from := f.newAccount(), env.AuditEnd(t)
			f.mayWriteParents(who)
			f.mayWriteChildren(who)
			f.RunComposite(f.CompositeSpec(withFinalize, limited(who), func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ChildResources[0].UpdateStrategy.Apply = new(engine)
			}))
			f.playOneLife()
			f.expectWritesAs(from, who, update...)
		})
	}
}

func TestADecoratorControllerWritesAsItsServiceAccount(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(asked decorator) object {
		return object{
			"labels": object{"decorated": "yes"}, "status": statusOf(&asked.Object), "attachments": configMapOf(&asked.Object), "finalized": true,
		}
	}))
	who, from := f.newAccount(), env.AuditEnd(t)
	f.mayWriteParents(who)
	f.mayWriteChildren(who)
	f.RunDecorator(f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.ServiceAccount = &who
		spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
	}))
	f.playOneLife()
	f.expectWritesAs(from, who, "create configmaps", "delete configmaps", "update configmaps", "update parents", "update parents/status")
}

// Finalizers that lifecycle removes, when no controller runs any more, are the account's writes, too.
func TestADeletedControllerLetsGoOfItsParentsAsItsServiceAccount(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(composite) object { return object{} }))
	who := f.newAccount()
	f.mayWriteParents(who)
	f.RunComposite(f.CompositeSpec(withFinalize, limited(who)))
	f.CreateParent("a", object{})
	f.WaitForFinalizers("a", f.Finalizer())
	f.WaitForParent("a", hasStatus) // the last write of a sync
	from := env.AuditEnd(t)
	f.DeleteController()
	f.WaitUntilControllerIsGone()
	f.WaitForFinalizers("a")
	f.expectWritesAs(from, who, "update parents")
}

func TestAChangeOfTheServiceAccountIsHeededAtOnce(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(asked composite) object { return object{"children": configMapOf(&asked.Parent)} }))
	first, second := f.newAccount(), f.newAccount()
	for _, who := range []account{first, second} {
		f.mayWriteParents(who)
		f.mayWriteChildren(who)
	}
	f.RunComposite(f.CompositeSpec(limited(first)))
	f.CreateParent("a", object{"value": "0"})
	f.WaitForConfigMap("a", harness.HasData("value", "0"))
	for i, who := range []account{second, first} {
		f.PatchController(object{"spec": object{"serviceAccount": object{"namespace": who.Namespace, "name": who.Name}}})
		f.waitUntilCurrent()
		from, value := env.AuditEnd(t), fmt.Sprint(i+1)
		f.PatchParent("a", object{"spec": object{"value": value}})
		f.WaitForConfigMap("a", harness.HasData("value", value))
		if writes := f.writesAs(from, user(who)); !slices.Contains(writes, "update configmaps") {
			t.Errorf("written as %s: %q", who.Name, writes)
		}
	}
}

// waitUntilCurrent waits until the controller runs with its present spec.
func (f *fixture) waitUntilCurrent() {
	f.Helper()
	f.WaitForController(func(metadata metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.ObservedGeneration != metadata.Generation {
			return fmt.Errorf("generation %d is observed, want %d", status.ObservedGeneration, metadata.Generation)
		}
		return nil
	})
	f.WaitForReady(metav1.ConditionTrue, "Running")
}
