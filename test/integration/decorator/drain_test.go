// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// waitForHeld waits until so many targets carry the finalizer of the controller.
func (f *fixture) waitForHeld(want int) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		list, err := env.Dynamic.Resource(f.targets).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		held := 0
		for _, target := range list.Items {
			if slices.Contains(target.GetFinalizers(), f.finalizer()) {
				held++
			}
		}
		if held != want {
			return fmt.Errorf("%d targets are held, want %d", held, want)
		}
		return nil
	})
}

// A controller that is deleted lets go of the targets of all its types.
func TestQ13DeletingAControllerLetsGoOfItsTargets(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := prepare(t, harness.CRD{Kind: "Thing"}, script.handle)
	other := *f
	other.targets = env.Install(t, harness.CRD{Kind: "Thing"})
	f.controller = f.create(f.spec(withFinalize, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources = append(spec.Resources, other.spec().Resources...)
	}))
	other.controller = f.controller
	env.WaitForDrainFinalizer(t, f.itself(), true, f.targets, other.targets)
	for i := range 10 {
		f.target(fmt.Sprintf("a%d", i), nil, object{})
		other.target(fmt.Sprintf("b%d", i), nil, object{})
	}
	f.waitForHeld(10)
	other.waitForHeld(10)
	f.waitForAttachment("a0")

	env.Kubectl(t, "delete", "dec", f.controller.Name, "--timeout=120s")
	f.waitForHeld(0)
	other.waitForHeld(0)
	if !f.isThere("a0") {
		t.Error("deleting the controller deleted attachments")
	}
	if calls := f.calls(finalizePath, "a0"); len(calls) > 0 {
		t.Error("deleting the controller called the finalize hook")
	}
	f.delete("a0")
	f.waitUntilGone("a0")
}

func TestQ13AnotherTargetTypeLetsGoOfTheOld(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize)
	f.target("old", nil, object{})
	f.waitForHeld(1)
	old := *f
	f.targets = env.Install(t, harness.CRD{Kind: "Thing"})
	env.PatchController(t, f.itself(), object{"spec": object{"resources": []object{{"apiVersion": f.targets.GroupVersion().String(), "resource": f.targets.Resource}}}})
	f.target("new", nil, object{})
	f.waitForHeld(1)
	old.waitForHeld(0)
	env.WaitForDrainFinalizer(t, f.itself(), true, f.targets)
}

func TestTargetsAreLetGoWhenTheFinalizeHookIsGone(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize)
	f.target("a", object{"finalizers": []any{foreign}}, object{})
	f.waitForFinalizers("a", foreign, f.finalizer())
	env.PatchController(t, f.itself(), object{"spec": object{"hooks": object{"finalize": nil}}})
	f.waitForFinalizers("a", foreign)
	env.WaitForDrainFinalizer(t, f.itself(), false)
	f.patch("a", object{"metadata": object{"finalizers": nil}})
	f.quiesce("a")
}

// refuseWrites has the host refuse whatever is written of a target, which its type no longer
// allows, from some moments after the type has changed.
func (f *fixture) refuseWrites(target string) {
	f.Helper()
	env.Kubectl(f, "patch", "crd", f.targets.GroupResource().String(), "--type=json", "-p",
		`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/required","value":["nobodyHasThis"]}]`)
	env.Eventually(f, func(ctx context.Context) error {
		_, err := env.Dynamic.Resource(f.targets).Namespace(f.namespace).Patch(ctx, target, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"written":"yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the host should refuse to write %s, but says: %v", target, err)
		}
		return nil
	})
}

// A controller whose targets cannot be let go stays, unless it is annotated.
func TestQ13SkipAnnotationDeletesAControllerThatCannotLetGo(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize)
	f.target("a", nil, object{})
	f.waitForHeld(1)
	f.waitForLabel("a", "marked", "yes")
	f.refuseWrites("a")
	env.DeleteController(t, f.itself())
	env.WaitForEvent(t, metav1.NamespaceDefault, f.controller.Name, "DrainError", "Cannot take the finalizer off parents")
	env.WaitForReady(t, f.itself(), metav1.ConditionFalse, "Deleting")
	env.PatchController(t, f.itself(), object{"metadata": object{"annotations": object{v1alpha1.SkipDrainAnnotation: "true"}}})
	env.WaitUntilControllerIsGone(t, f.itself())
	f.waitForHeld(1)
}
