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

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// notFinalized answers finalize calls without finalized.
func notFinalized(request) object { return object{} }

// getController reads the fixture's CompositeController.
func (f *fixture) getController(ctx context.Context) (*v1alpha1.CompositeController, error) {
	return env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, f.Controller.Name, metav1.GetOptions{})
}

// createParentsWithFinalizer creates parents and waits until all have the finalizer.
func (f *fixture) createParentsWithFinalizer(count int) {
	f.Helper()
	for i := range count {
		f.createParent(fmt.Sprintf("p%d", i))
	}
	f.WaitForParentsWithFinalizer(count)
}

func TestQ13DeletingAControllerLetsGoOfItsParents(t *testing.T) {
	t.Parallel()
	script := scripted(t, notFinalized)
	f := start(t, script.handle, withFinalize)
	f.WaitForDrainFinalizer(true, f.Parents)
	f.createParentsWithFinalizer(10)
	f.createParent("going", harness.OtherFinalizer)
	f.WaitForFinalizers("going", harness.OtherFinalizer, f.Finalizer())
	f.DeleteParent("going", metav1.DeletePropagationBackground)
	f.waitForCall("/finalize", "going", isDeleted)
	f.waitForSynced("p0")

	// A hook that answers may take as long as it needs.
	f.DeleteController()
	f.WaitForReady(metav1.ConditionFalse, "Deleting")
	script.then(done)
	f.Touch("going", "1")
	f.WaitUntilControllerIsGone()
	if held, err := f.CountParentsWithFinalizer(t.Context()); held > 0 || err != nil {
		t.Errorf("%d parents are held by a controller that is gone (%v)", held, err)
	}
	f.WaitForFinalizers("going", harness.OtherFinalizer)
	if !f.HasConfigMap("p0") {
		t.Error("deleting the controller deleted children")
	}
	f.PatchParent("going", object{"metadata": object{"finalizers": nil}})
}

func TestAControllerWithoutFinalizeHookIsNotHeld(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, notFinalized).handle)
	f.createParent("a")
	f.waitForSynced("a")
	f.WaitForDrainFinalizer(false)

	f.PatchController(object{"spec": object{"hooks": object{"finalize": object{"webhook": object{"url": f.Hook.URL("/finalize")}}}}})
	f.WaitForFinalizers("a", f.Finalizer())
	f.WaitForDrainFinalizer(true, f.Parents)

	f.PatchController(object{"spec": object{"hooks": object{"finalize": nil}}})
	f.WaitForDrainFinalizer(false)
	f.WaitForParentsWithFinalizer(0)
}

// An update of a controller right after its creation, based on the answer of the creation, is no
// conflict.
func TestANewControllerCanBeChangedRightAway(t *testing.T) {
	t.Parallel()
	const rightAway = 250 * time.Millisecond
	f := prepare(t, hook.Serve(t, scripted(t, notFinalized).handle))
	env.Eventually(t, func(ctx context.Context) error {
		began := time.Now()
		created := f.CreateComposite(harness.Name("test"), f.CompositeSpec(withFinalize))
		f.Controller = harness.Composite(created.Name)
		created.Annotations = map[string]string{"changed": "right away"}
		_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Update(ctx, created, metav1.UpdateOptions{})
		took := time.Since(began)
		if err == nil {
			return nil
		}
		if took < rightAway || !apierrors.IsConflict(err) {
			t.Fatalf("a controller was changed within %s: %v", took, err)
		}
		f.DeleteController()
		f.WaitUntilControllerIsGone()
		return err // this machine was too slow, but may be quicker with another controller
	})
	f.createParentsWithFinalizer(1)
}

func TestQ13AHookThatIsDownDoesNotKeepTheController(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, notFinalized).handle, withFinalize)
	f.createParentsWithFinalizer(3)
	f.Hook.Handle(func(ctx context.Context, _ hook.Call) hook.Answer {
		<-ctx.Done() // until the caller gives up
		return hook.Answer{}
	})
	f.DeleteParent("p0", metav1.DeletePropagationBackground)
	f.waitForCall("/finalize", "p0", isDeleted)
	f.DeleteController()
	f.WaitUntilControllerIsGone()
	f.WaitUntilParentIsGone("p0")
	f.WaitForParentsWithFinalizer(0)
}

func TestQ13AnotherParentTypeLetsGoOfTheOld(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, notFinalized).handle, withFinalize)
	f.createParentsWithFinalizer(3)
	old := *f
	f.Parents = env.Install(t, harness.CRD{Kind: "Thing"})
	f.PatchController(object{"spec": object{"parentResource": object{"apiVersion": f.Parents.GroupVersion().String()}}})
	f.createParent("new")
	f.WaitForParentsWithFinalizer(1)
	old.WaitForParentsWithFinalizer(0)
	f.WaitForDrainFinalizer(true, f.Parents)
	f.DeleteController()
	f.WaitUntilControllerIsGone()
	f.WaitForParentsWithFinalizer(0)
}

// A call of the finalize hook that the next spec does not repeat ends before the controller is replaced.
func TestQ13ACallOfTheFinalizeHookIsNotCutByAChangeOfTheSpec(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture) object{
		"the hook is removed": func(*fixture) object { return object{"hooks": object{"finalize": nil}} },
		"another parent type": func(f *fixture) object {
			other := env.Install(f, harness.CRD{Kind: "Thing"})
			return object{"parentResource": object{"apiVersion": other.GroupVersion().String()}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, scripted(t, done).handle, withFinalize)
			f.createParentsWithFinalizer(1)
			spec := change(f)
			called, cut := make(chan struct{}, 1), make(chan bool, 1)
			f.Hook.Handle(func(ctx context.Context, call hook.Call) hook.Answer {
				if call.Path == harness.FinalizePath {
					called <- struct{}{}
					select { // the next controller is ready earlier
					case <-time.After(3 * time.Second):
						cut <- false
					case <-ctx.Done():
						cut <- true
					}
				}
				return hook.JSON(object{"finalized": true})
			})
			f.DeleteParent("p0", metav1.DeletePropagationBackground)
			<-called
			f.PatchController(object{"spec": spec})
			if <-cut {
				t.Error("the call was cut")
			}
			f.WaitUntilParentIsGone("p0")
			if events, err := f.notFinalizedEvents(t.Context(), "p0"); len(events) > 0 || err != nil {
				t.Errorf("events: %v (%v)", events, err)
			}
			f.WaitForReady(metav1.ConditionTrue, "Running")
		})
	}
}

func TestQ13ParentsWhoseTypeIsGoneKeepNothing(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, done).handle, withFinalize)
	f.createParent("a")
	f.WaitForFinalizers("a", f.Finalizer())
	f.deleteDefinition()
	f.waitUntilDefinitionIsGone()
	f.DeleteController()
	f.WaitUntilControllerIsGone()
}

// refuseWrites makes the host refuse the server's updates of the fixture's parents until the
// returned function is called.
func (f *fixture) refuseWrites() (accept func()) {
	f.Helper()
	name := harness.Name("refuse")
	env.Apply(f, strings.NewReplacer("NAME", name, "GROUP", f.Parents.Group, "USER", harness.ServerUser).Replace(`
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
		parent, err := f.GetParent(ctx, "p0")
		if err != nil {
			return err
		}
		parent.SetAnnotations(map[string]string{"refused": "yes"})
		_, err = f.ParentClient().Update(ctx, parent, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
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

// A controller stays if its finalizer cannot be removed from its parents, and its status says why.
// An annotation deletes it at once.
func TestQ13SkipAnnotationDeletesAControllerThatCannotLetGo(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, notFinalized).handle, withFinalize)
	f.createParentsWithFinalizer(2)
	f.refuseWrites()
	f.DeleteController()
	env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "DrainError", "Cannot remove the finalizer from parents")
	f.WaitForReady(metav1.ConditionFalse, "Deleting")
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
	calls := len(f.Hook.Calls())

	f.PatchController(object{"metadata": object{"annotations": object{v1alpha1.SkipDrainAnnotation: "true"}}})
	f.WaitUntilControllerIsGone()
	f.WaitForParentsWithFinalizer(2)
	if after := len(f.Hook.Calls()); after != calls {
		t.Errorf("the hook of a controller that is being deleted was called %d times", after-calls)
	}
}

// A server that is killed while it removes finalizers continues after its restart.
func TestQ13ADrainSurvivesAKilledServer(t *testing.T) {
	f := start(t, scripted(t, notFinalized).handle, withFinalize)
	f.createParentsWithFinalizer(10)
	accept := f.refuseWrites()
	f.DeleteController()
	env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "DrainError", ": 10; the first: ")
	env.KillServer(t)
	accept()
	env.StartServer(t)
	afterRestart(f, func(ctx context.Context) error {
		_, err := f.getController(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	f.WaitUntilControllerIsGone()
	f.WaitForParentsWithFinalizer(0)
}

// An instance that selects controllers by labels stops a controller at once when it no longer
// matches. It removes only the finalizers of its own controllers.
func TestQ9ARelabelledControllerStopsAtOnce(t *testing.T) {
	f := start(t, scripted(t, notFinalized).handle, withFinalize)
	f.PatchController(object{"metadata": object{"labels": object{"instance": "this"}}})
	f.createParentsWithFinalizer(2)
	restart := func(args ...string) {
		env.StopServer(t)
		env.Server.Args = args
		env.StartServer(t)
		afterRestart(f, func(ctx context.Context) error {
			_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().List(ctx, metav1.ListOptions{})
			return err
		})
	}
	before := env.Server.Args
	defer func() { restart(before...) }()
	restart(append(slices.Clone(before), "--target-label-selector=instance=this")...)
	f.touchUntil("p0", f.wasCalled)

	// Another controller of the instance shows which changes have arrived.
	other := &fixture{harness.Fixture{T: t, Env: env, Parents: f.Parents, Namespace: f.Namespace, Hook: hook.Serve(t, scripted(t, notFinalized).handle)}}
	other.RunComposite(other.CompositeSpec(withFinalize, func(spec *v1alpha1.CompositeControllerSpec) { spec.ChildResources = nil }))
	other.PatchController(object{"metadata": object{"labels": object{"instance": "this"}}})
	f.PatchController(object{"metadata": object{"labels": object{"instance": "other"}}})
	f.WaitForReady(metav1.ConditionFalse, "NotSelected")
	// One round could pass by chance: the other controller may only have been faster.
	for range 2 {
		f.touchUntil("p0", func(touch string) bool { return other.wasCalled(touch) && !f.wasCalled(touch) })
	}

	calls := len(f.Hook.Calls())
	f.DeleteController()
	other.DeleteController()
	other.WaitUntilControllerIsGone()
	f.WaitForParentsWithFinalizer(2)
	if after := len(f.Hook.Calls()); after != calls {
		t.Errorf("the hook of another instance's controller was called %d times", after-calls)
	}

	f.PatchController(object{"metadata": object{"labels": object{"instance": "this"}}})
	f.WaitUntilControllerIsGone()
	f.WaitForParentsWithFinalizer(0)
}

// touchUntil annotates a parent repeatedly until holds returns true soon after the last annotation.
func (f *fixture) touchUntil(parent string, holds func(touch string) bool) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		touch := harness.Name("touch")
		f.PatchParent(parent, object{"metadata": object{"annotations": object{"touched": touch}}})
		return poll.Within(ctx, 2*time.Second, func(context.Context) error {
			if !holds(touch) {
				return errors.New("the last change of the parent had not the effect it should have")
			}
			return nil
		})
	})
}

// wasCalled reports whether the hook was sent a parent with this annotation.
func (f *fixture) wasCalled(touch string) bool {
	return slices.ContainsFunc(f.Hook.Calls(), func(call hook.Call) bool { return bytes.Contains(call.Body, []byte(touch)) })
}
