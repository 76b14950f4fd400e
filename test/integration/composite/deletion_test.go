// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// cleaning answers finalize calls with no children, and with finalized when there are none.
func cleaning(asked request) object {
	return object{"finalized": len(asked.Children["ConfigMap.v1"]) == 0, "children": []object{}}
}

// deleteDefinition deletes the CustomResourceDefinition of the parents, which stays until they are gone.
func (f *fixture) deleteDefinition() {
	f.Helper()
	name := f.Parents.GroupResource().String()
	if err := env.Dynamic.Resource(definitions).Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) waitUntilDefinitionIsGone() {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		_, err := env.Dynamic.Resource(definitions).Get(ctx, f.Parents.GroupResource().String(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the definition is still there: %w", err)
	})
}

// notFinalizedEvents returns the types and reasons of the events that say that a parent lost its finalizer.
func (f *fixture) notFinalizedEvents(ctx context.Context, parent string) (found []string, err error) {
	events, err := env.Kube.CoreV1().Events(f.Namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + parent})
	if err != nil {
		return nil, err
	}
	for _, event := range events.Items {
		if strings.Contains(event.Message, "Removed the finalizer") {
			found = append(found, event.Type+" "+event.Reason)
		}
	}
	return found, nil
}

// Flux, Helm and Argo CD delete a controller, its parents and their CustomResourceDefinition one right after the other.
func TestQ13ParentsThatAreDeletedWithTheirControllerAreFinalized(t *testing.T) {
	t.Parallel()
	const background, foreground = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground
	tests := map[string]struct {
		policy metav1.DeletionPropagation
		order  []string
	}{
		"as Flux does: the controller first":      {background, []string{"controller", "parents", "definition"}},
		"as Helm does: the parents first":         {background, []string{"parents", "controller", "definition"}},
		"as Argo CD does: in the foreground":      {foreground, []string{"controller", "parents", "definition"}},
		"as Argo CD does with waves":              {foreground, []string{"parents", "controller", "definition"}},
		"the definition first":                    {background, []string{"definition", "controller", "parents"}},
		"the definition first, in the foreground": {foreground, []string{"definition", "parents", "controller"}},
		"the controller, and then its definition": {background, []string{"controller", "definition"}},
		"the definition, and then its controller": {background, []string{"definition", "controller"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, harness.Slowly(scripted(t, cleaning).handle), withFinalize)
			f.createParentsWithFinalizer(3)
			parents := []string{"p0", "p1", "p2"}
			for _, parent := range parents {
				f.waitForSynced(parent)
			}
			options := metav1.DeleteOptions{PropagationPolicy: &test.policy}
			controllers := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
			definition := f.Parents.GroupResource().String()
			var errs []error
			for _, what := range test.order {
				switch what {
				case "controller":
					errs = append(errs, controllers.Delete(t.Context(), f.Controller.Name, options))
				case "definition":
					errs = append(errs, env.Dynamic.Resource(definitions).Delete(t.Context(), definition, options))
				case "parents":
					for _, parent := range parents {
						errs = append(errs, f.ParentClient().Delete(t.Context(), parent, options))
					}
				}
			}
			for _, err := range errs {
				if err != nil && !apierrors.IsNotFound(err) {
					t.Fatal(err)
				}
			}
			f.WaitUntilControllerIsGone()
			f.waitUntilDefinitionIsGone()
			for _, parent := range parents {
				calls := hook.Requests[request](t, f.Hook, harness.FinalizePath, parent)
				if len(calls) == 0 || !calls[len(calls)-1].Finalizing || len(calls[len(calls)-1].Children["ConfigMap.v1"]) > 0 {
					t.Errorf("%s is gone after %d finalize calls", parent, len(calls))
				}
				if events, err := f.notFinalizedEvents(t.Context(), parent); len(events) > 0 || err != nil {
					t.Errorf("events about %s: %v (%v)", parent, events, err)
				}
			}
		})
	}
}

// A hook that is deleted with its controller may never be reached again.
func TestQ13AHookThatIsGoneKeepsNoParent(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, cleaning).handle, withFinalize, func(spec *v1alpha1.CompositeControllerSpec) {
		nobody := "http://127.0.0.1:1/finalize"
		spec.Hooks.Finalize.Webhook.URL = &nobody
	})
	f.createParentsWithFinalizer(2)
	f.DeleteController()
	f.DeleteParent("p0", metav1.DeletePropagationBackground)
	env.Eventually(t, func(ctx context.Context) error {
		controller, err := f.getController(ctx)
		if err != nil {
			t.Fatalf("the controller did not wait for its hook: %v", err)
		}
		if !slices.ContainsFunc(controller.Status.Conditions, func(condition metav1.Condition) bool {
			return condition.Type == v1alpha1.ConditionReady && condition.Status == metav1.ConditionFalse &&
				condition.Reason == "Deleting" && strings.Contains(condition.Message, "connection refused")
		}) {
			return fmt.Errorf("Ready should have the error of the hook, but the conditions are %v", controller.Status.Conditions)
		}
		return nil
	})
	f.WaitUntilControllerIsGone()
	f.WaitUntilParentIsGone("p0")
	f.WaitForParentsWithFinalizer(0)
	for _, parent := range []string{"p0", "p1"} {
		env.WaitForEvent(t, f.Namespace, parent, "NotFinalized", "the controller is being deleted")
		events, err := f.notFinalizedEvents(t.Context(), parent)
		if !slices.Equal(events, []string{corev1.EventTypeWarning + " NotFinalized"}) {
			t.Errorf("events about %s: %v (%v)", parent, events, err)
		}
	}
}

// A hook that asks to be called later answers: its controller waits.
func TestQ13AHookThatPutsCallsOffIsCalledAgain(t *testing.T) {
	t.Parallel()
	script := scripted(t, cleaning)
	f := start(t, script.handle, withFinalize)
	f.createParentsWithFinalizer(1)
	f.waitForSynced("p0")
	var putOff atomic.Int32
	f.Hook.Handle(func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == harness.FinalizePath && putOff.Add(1) <= 3 {
			return hook.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}}
		}
		return script.handle(ctx, call)
	})
	f.DeleteController()
	f.DeleteParent("p0", metav1.DeletePropagationBackground)
	f.WaitUntilControllerIsGone()
	f.WaitUntilParentIsGone("p0")
	if events, err := f.notFinalizedEvents(t.Context(), "p0"); len(events) > 0 || err != nil || putOff.Load() < 4 {
		t.Errorf("after %d calls, there are the events %v (%v)", putOff.Load(), events, err)
	}
}

// A server that is restarted while it finalizes parents continues.
func TestQ13TheFinalizationBeforeADeletionSurvivesAKilledServer(t *testing.T) {
	script := scripted(t, notFinalized)
	f := start(t, script.handle, withFinalize)
	f.createParentsWithFinalizer(2)
	f.DeleteParent("p0", metav1.DeletePropagationBackground)
	f.DeleteController()
	f.waitForCall("/finalize", "p0", isDeleted)
	f.WaitForReady(metav1.ConditionFalse, "Deleting")
	env.KillServer(t)
	script.then(cleaning)
	env.StartServer(t)
	afterRestart(f, func(ctx context.Context) error {
		_, err := f.getController(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	f.WaitUntilControllerIsGone()
	f.WaitUntilParentIsGone("p0")
	f.WaitForParentsWithFinalizer(0)
	if events, err := f.notFinalizedEvents(t.Context(), "p0"); len(events) > 0 || err != nil {
		t.Errorf("events: %v (%v)", events, err)
	}
}
