// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// hasStatus accepts a parent whose status was written.
func hasStatus(parent *unstructured.Unstructured) error {
	if parent.Object["status"] == nil {
		return errors.New("the parent has no status")
	}
	return nil
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
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Total != 1 {
			return fmt.Errorf("the parents in the status are %+v, and one is in the namespaces of the controller", status.Parents)
		}
		return nil
	})
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
