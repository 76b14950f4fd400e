// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// never answers finalize calls that there is something left to do.
func never(request) object { return object{} }

// getController reads the fixture's CompositeController.
func (f *fixture) getController(ctx context.Context) (*v1alpha1.CompositeController, error) {
	return env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, f.controller.Name, metav1.GetOptions{})
}

func (f *fixture) deleteController() {
	f.Helper()
	env.DeleteController(f, f.itself())
}

func (f *fixture) waitForControllerGone() {
	f.Helper()
	env.WaitUntilControllerIsGone(f, f.itself())
}

// waitForDrainFinalizer waits until the CompositeController has the finalizer that keeps
// it for its parents, or has not.
func (f *fixture) waitForDrainFinalizer(want bool, held ...schema.GroupVersionResource) {
	f.Helper()
	env.WaitForDrainFinalizer(f, f.itself(), want, held...)
}

// heldParents creates parents and waits until all are held.
func (f *fixture) heldParents(count int) {
	f.Helper()
	for i := range count {
		f.createParent(fmt.Sprintf("p%d", i))
	}
	f.waitForHeld(count)
}

// waitForHeld waits until so many parents carry the finalizer of the controller.
func (f *fixture) waitForHeld(want int) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		held, err := f.held(ctx)
		if err == nil && held != want {
			err = fmt.Errorf("%d parents are held, want %d", held, want)
		}
		return err
	})
}

func (f *fixture) held(ctx context.Context) (count int, err error) {
	list, err := env.Dynamic.Resource(f.parents).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, parent := range list.Items {
		if slices.Contains(parent.GetFinalizers(), f.finalizer()) {
			count++
		}
	}
	return count, nil
}

func TestQ13DeletingAControllerLetsGoOfItsParents(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, never).handle, withFinalize)
	f.waitForDrainFinalizer(true, f.parents)
	f.heldParents(50)
	f.createParent("going", foreign)
	f.waitForFinalizers("going", foreign, f.finalizer())
	f.deleteParent("going", metav1.DeletePropagationBackground)
	f.waitForCall("/finalize", "going", isDeleted)
	f.waitForSynced("p0")

	env.Kubectl(t, "delete", "cc", f.controller.Name, "--timeout=60s")
	if held, err := f.held(t.Context()); held > 0 || err != nil {
		t.Errorf("%d parents are held by a controller that is gone (%v)", held, err)
	}
	f.waitForFinalizers("going", foreign)
	if !f.exists("p0") {
		t.Error("deleting the controller deleted children")
	}
	f.patchParent("going", `{"metadata":{"finalizers":null}}`)
}

func TestAControllerWithoutFinalizeHookIsNotHeld(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, never).handle)
	f.createParent("a")
	f.waitForSynced("a")
	f.waitForDrainFinalizer(false)

	f.patchController(object{"spec": object{"hooks": object{"finalize": object{"webhook": object{"url": f.hook.URL("/finalize")}}}}})
	f.waitForFinalizers("a", f.finalizer())
	f.waitForDrainFinalizer(true, f.parents)

	f.patchController(object{"spec": object{"hooks": object{"finalize": nil}}})
	f.waitForDrainFinalizer(false)
	f.waitForHeld(0)
}

// Whoever creates a controller and changes it right away, with what the creation
// answered, is not in conflict with the server.
func TestANewControllerCanBeChangedRightAway(t *testing.T) {
	t.Parallel()
	const rightAway = 250 * time.Millisecond
	f := prepare(t, hook.Serve(t, scripted(t, never).handle))
	env.Eventually(t, func(ctx context.Context) error {
		began := time.Now()
		f.controller = f.create(f.spec(withFinalize))
		f.controller.Annotations = map[string]string{"changed": "right away"}
		_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Update(ctx, f.controller, metav1.UpdateOptions{})
		took := time.Since(began)
		if err == nil {
			return nil
		}
		if took < rightAway || !apierrors.IsConflict(err) {
			t.Fatalf("a controller was changed within %s: %v", took, err)
		}
		f.deleteController()
		f.waitForControllerGone()
		return err // this machine was too slow, but may be quicker with another controller
	})
	f.heldParents(1)
}

func TestQ13AHookThatIsDownDoesNotKeepTheController(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, never).handle, withFinalize)
	f.heldParents(3)
	f.hook.Handle(func(ctx context.Context, _ hook.Call) hook.Answer {
		<-ctx.Done() // nobody answers
		return hook.Answer{}
	})
	f.deleteParent("p0", metav1.DeletePropagationBackground)
	f.waitForCall("/finalize", "p0", isDeleted)
	f.deleteController()
	f.waitForControllerGone()
	f.waitForParentGone("p0")
	f.waitForHeld(0)
}

func TestQ13AnotherParentTypeLetsGoOfTheOld(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, never).handle, withFinalize)
	f.heldParents(3)
	old := *f
	f.parents = env.Install(t, harness.CRD{Kind: "Thing"})
	f.patchController(object{"spec": object{"parentResource": object{"apiVersion": f.parents.GroupVersion().String()}}})
	f.createParent("new")
	f.waitForHeld(1)
	old.waitForHeld(0)
	f.waitForDrainFinalizer(true, f.parents)
	f.deleteController()
	f.waitForControllerGone()
	f.waitForHeld(0)
}

func TestQ13ParentsWhoseTypeIsGoneKeepNothing(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, done).handle, withFinalize)
	f.createParent("a")
	f.waitForFinalizers("a", f.finalizer())
	env.Kubectl(t, "delete", "crd", f.parents.GroupResource().String(), "--timeout=60s")
	f.deleteController()
	f.waitForControllerGone()
}

// refuseWrites has the host refuse the server's updates of the fixture's parents until
// the returned function is called.
func (f *fixture) refuseWrites() (accept func()) {
	f.Helper()
	name := harness.Name("refuse")
	env.Apply(f, strings.NewReplacer("NAME", name, "GROUP", f.parents.Group, "USER", harness.ServerUser).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [GROUP], apiVersions: ["*"], operations: [UPDATE], resources: ["*"]}]
  validations:
  - expression: "request.userInfo.username != 'USER' && !('refused' in object.metadata.?annotations.orValue({}))"
    message: not these days
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
`))
	probe := func(ctx context.Context) error {
		parent, err := f.getParent(ctx, "p0")
		if err != nil {
			return err
		}
		parent.SetAnnotations(map[string]string{"refused": "yes"})
		_, err = env.Dynamic.Resource(f.parents).Namespace(f.namespace).Update(ctx, parent, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	env.Eventually(f, func(ctx context.Context) error {
		if err := probe(ctx); err == nil || !strings.Contains(err.Error(), "not these days") {
			return fmt.Errorf("writes should be refused by now: %w", err)
		}
		return nil
	})
	return func() {
		f.Helper()
		env.Kubectl(f, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)
		env.Eventually(f, probe)
	}
}

// A controller whose parents cannot be let go stays, and tells why; whoever does not want
// to wait annotates it.
func TestQ13SkipAnnotationDeletesAControllerThatCannotLetGo(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, never).handle, withFinalize)
	f.heldParents(2)
	f.refuseWrites()
	f.deleteController()
	env.WaitForEvent(t, metav1.NamespaceDefault, f.controller.Name, "DrainError", "Cannot take the finalizer off parents")
	f.waitForReady(metav1.ConditionFalse, "Deleting")
	env.Eventually(t, func(ctx context.Context) error {
		controller, err := f.getController(ctx)
		if err != nil {
			return err
		}
		for _, condition := range controller.Status.Conditions {
			if condition.Type == v1alpha1.ConditionReady && strings.Contains(condition.Message, "not these days") &&
				strings.Contains(condition.Message, v1alpha1.SkipDrainAnnotation) {
				return nil
			}
		}
		return fmt.Errorf("the condition Ready should tell what to do, but the conditions are %v", controller.Status.Conditions)
	})
	calls := len(f.hook.Calls())

	f.patchController(object{"metadata": object{"annotations": object{v1alpha1.SkipDrainAnnotation: "true"}}})
	f.waitForControllerGone()
	f.waitForHeld(2)
	if after := len(f.hook.Calls()); after != calls {
		t.Errorf("the hook of a controller that is being deleted was called %d times", after-calls)
	}
}

// A server that is killed while it lets go of parents goes on with it when it is back.
func TestQ13ADrainSurvivesAKilledServer(t *testing.T) {
	f := start(t, scripted(t, never).handle, withFinalize)
	f.heldParents(50)
	accept := f.refuseWrites()
	f.deleteController()
	env.WaitForEvent(t, metav1.NamespaceDefault, f.controller.Name, "DrainError", ": 50; the first: ")
	if err := env.Server.Kill(); err != nil {
		t.Fatal(err)
	}
	accept()
	if err := env.Server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	afterRestart(f, func(ctx context.Context) error {
		_, err := f.getController(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	f.waitForControllerGone()
	f.waitForHeld(0)
}

// An instance that runs only some controllers stops one at once that is no longer among
// them, and lets go of the parents of its own alone.
func TestQ9ARelabelledControllerStopsAtOnce(t *testing.T) {
	f := start(t, scripted(t, never).handle, withFinalize)
	f.patchController(object{"metadata": object{"labels": object{"instance": "this"}}})
	f.heldParents(2)
	restart := func(args ...string) {
		if err := env.Server.Stop(); err != nil {
			t.Fatal(err)
		}
		env.Server.Args = args
		if err := env.Server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		afterRestart(f, func(ctx context.Context) error {
			_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().List(ctx, metav1.ListOptions{})
			return err
		})
	}
	before := env.Server.Args
	defer func() { restart(before...) }()
	restart(append(slices.Clone(before), "--target-label-selector=instance=this")...)
	f.touchUntil("p0", f.wasCalled)

	// Another controller of the instance shows what has arrived there.
	other := &fixture{T: t, parents: f.parents, namespace: f.namespace, hook: hook.Serve(t, scripted(t, never).handle)}
	other.controller = other.create(other.spec(withFinalize, func(spec *v1alpha1.CompositeControllerSpec) { spec.ChildResources = nil }))
	other.patchController(object{"metadata": object{"labels": object{"instance": "this"}}})
	f.patchController(object{"metadata": object{"labels": object{"instance": "other"}}})
	f.waitForReady(metav1.ConditionFalse, "NotSelected")
	// The second round shows that the first was not just quicker.
	for range 2 {
		f.touchUntil("p0", func(touch string) bool { return other.wasCalled(touch) && !f.wasCalled(touch) })
	}

	calls := len(f.hook.Calls())
	f.deleteController()
	other.deleteController()
	other.waitForControllerGone()
	f.waitForHeld(2)
	if after := len(f.hook.Calls()); after != calls {
		t.Errorf("the hook of another instance's controller was called %d times", after-calls)
	}

	f.patchController(object{"metadata": object{"labels": object{"instance": "this"}}})
	f.waitForControllerGone()
	f.waitForHeld(0)
}

// touchUntil annotates a parent again and again until what is said of the last annotation
// holds shortly afterwards.
func (f *fixture) touchUntil(parent string, holds func(touch string) bool) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		touch := harness.Name("touch")
		f.patchParent(parent, `{"metadata":{"annotations":{"touched":"`+touch+`"}}}`)
		return poll.Within(ctx, 2*time.Second, func(context.Context) error {
			if !holds(touch) {
				return errors.New("the last change of the parent had not the effect it should have")
			}
			return nil
		})
	})
}

// wasCalled tells whether the hook was shown a parent touched so.
func (f *fixture) wasCalled(touch string) bool {
	return slices.ContainsFunc(f.hook.Calls(), func(call hook.Call) bool { return bytes.Contains(call.Body, []byte(touch)) })
}
