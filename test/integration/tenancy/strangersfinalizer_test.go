// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Anyone who may write a parent can put any finalizer on it. The account may not remove it in a namespace
// that the controller is not for.
func TestAFinalizerThatAStrangerPutOnAParentHoldsNothingUp(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(asked composite) object {
		return object{"status": statusOf(&asked.Parent), "children": configMapOf(&asked.Parent), "finalized": true}
	}))
	who, elsewhere := f.newAccount(), f.in(env.Namespace(t))
	f.mayWriteParents(who)
	f.mayWriteChildren(who)
	f.RunComposite(f.CompositeSpec(withFinalize, limited(who, f.Namespace)))
	elsewhere.CreateParentWith("strange", object{"finalizers": []string{f.Finalizer()}}, object{})
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))

	// A new spec is when finalizers that are left behind are searched for.
	f.PatchController(object{"spec": object{"resyncPeriodSeconds": 3600}})
	f.waitUntilCurrent()
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.WaitForFinalizers("a", f.Finalizer())

	f.DeleteController()
	f.WaitUntilControllerIsGone()
	f.WaitForFinalizers("a")
	elsewhere.WaitForFinalizers("strange", f.Finalizer())
	elsewhere.PatchParent("strange", object{"metadata": object{"finalizers": nil}})
}
