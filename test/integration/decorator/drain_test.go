// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A controller that is deleted removes its finalizer from the targets of all its types.
func TestQ13DeletingAControllerLetsGoOfItsTargets(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := prepare(t, harness.CRD{Kind: "Thing"}, script.handle)
	other := *f
	other.Parents = env.Install(t, harness.CRD{Kind: "Thing"})
	f.RunDecorator(f.DecoratorSpec(withFinalize, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources = append(spec.Resources, other.DecoratorSpec().Resources...)
	}))
	other.Controller = f.Controller
	f.WaitForDrainFinalizer(true, f.Parents, other.Parents)
	for i := range 3 {
		f.CreateParent(fmt.Sprintf("a%d", i), object{})
		other.CreateParent(fmt.Sprintf("b%d", i), object{})
	}
	f.WaitForParentsWithFinalizer(3)
	other.WaitForParentsWithFinalizer(3)
	f.waitForAttachment("a0")

	env.Kubectl(t, "delete", "dec", f.Controller.Name, "--timeout=120s")
	f.WaitForParentsWithFinalizer(0)
	other.WaitForParentsWithFinalizer(0)
	if !f.HasConfigMap("a0") {
		t.Error("deleting the controller deleted attachments")
	}
	if calls := hook.Requests[request](f, f.Hook, harness.FinalizePath, "a0"); len(calls) > 0 {
		t.Error("deleting the controller called the finalize hook")
	}
	f.DeleteParent("a0")
	f.WaitUntilParentIsGone("a0")
}

func TestQ13AnotherTargetTypeLetsGoOfTheOld(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize)
	f.CreateParent("old", object{})
	f.WaitForParentsWithFinalizer(1)
	old := *f
	f.Parents = env.Install(t, harness.CRD{Kind: "Thing"})
	f.PatchController(object{"spec": object{"resources": []object{{"apiVersion": f.Parents.GroupVersion().String(), "resource": f.Parents.Resource}}}})
	f.CreateParent("new", object{})
	f.WaitForParentsWithFinalizer(1)
	old.WaitForParentsWithFinalizer(0)
	f.WaitForDrainFinalizer(true, f.Parents)
}

func TestTargetsAreLetGoWhenTheFinalizeHookIsGone(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize)
	f.CreateParentWith("a", object{"finalizers": []any{harness.OtherFinalizer}}, object{})
	f.WaitForFinalizers("a", harness.OtherFinalizer, f.Finalizer())
	f.PatchController(object{"spec": object{"hooks": object{"finalize": nil}}})
	f.WaitForFinalizers("a", harness.OtherFinalizer)
	f.WaitForDrainFinalizer(false)
	f.PatchParent("a", object{"metadata": object{"finalizers": nil}})
	f.Settle("a")
}

// refuseWrites makes the host refuse all writes of a target, since they are not valid with the new
// schema of its type.
func (f *fixture) refuseWrites(target string) {
	f.Helper()
	env.Kubectl(f, "patch", "crd", f.Parents.GroupResource().String(), "--type=json", "-p",
		`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/required","value":["nobodyHasThis"]}]`)
	env.Eventually(f, func(ctx context.Context) error {
		_, err := f.ParentClient().Patch(ctx, target, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"written":"yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the host should refuse to write %s, but says: %v", target, err)
		}
		return nil
	})
}

// A controller stays if its finalizer cannot be removed from its targets, unless it is annotated.
func TestQ13SkipAnnotationDeletesAControllerThatCannotLetGo(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize)
	f.CreateParent("a", object{})
	f.WaitForParentsWithFinalizer(1)
	f.waitForLabel("a", "marked", "yes")
	f.refuseWrites("a")
	f.DeleteController()
	env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "DrainError", "Cannot remove the finalizer from parents")
	f.WaitForReady(metav1.ConditionFalse, "Deleting")
	f.PatchController(object{"metadata": object{"annotations": object{v1alpha1.SkipDrainAnnotation: "true"}}})
	f.WaitUntilControllerIsGone()
	f.WaitForParentsWithFinalizer(1)
}
