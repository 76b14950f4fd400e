// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// waitForSyncedColumn waits until kubectl get cc -o wide would show a value of SYNCED.
func (f *fixture) waitForSyncedColumn(want string) {
	f.Helper()
	f.waitForCells(map[string]string{"SYNCED": want})
}

// messageOf returns the message of a condition; empty if there is none.
func messageOf(status v1alpha1.ControllerStatus, kind string) string {
	if condition := meta.FindStatusCondition(status.Conditions, kind); condition != nil {
		return condition.Message
	}
	return ""
}

// failingAbout returns a handler that answers with one ConfigMap, and about one parent with an error.
func failingAbout(t testing.TB, parent, message string) hook.Handler {
	return func(ctx context.Context, call hook.Call) hook.Answer {
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		if asked.Parent.GetName() == parent {
			return hook.Text(http.StatusInternalServerError, message)
		}
		return hook.JSON(oneConfigMap(asked))
	}
}

func (f *fixture) eventsAbout(name, reason string) (found []corev1.Event) {
	f.Helper()
	events, err := env.Kube.CoreV1().Events(f.Namespace).List(f.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		f.Fatal(err)
	}
	return slices.DeleteFunc(events.Items, func(event corev1.Event) bool { return event.Reason != reason })
}

func TestParentsSyncedIsWhatAUserWaitsFor(t *testing.T) {
	t.Parallel()
	const soon, enough = "--timeout=1s", "--timeout=60s"
	f := start(t, answers(t, oneConfigMap))
	controller := "cc/" + f.Controller.Name
	env.Kubectl(t, "wait", "--for=condition=ParentsSynced", controller, enough)
	f.CreateParent("a", object{"value": "1"})
	f.CreateParent("b", object{"value": "1"})
	f.waitForRow("True", "2", "0")
	f.waitForSyncedColumn("True")

	f.Hook.Handle(failingAbout(t, "b", "no such shelf"))
	f.PatchParent("b", object{"spec": object{"value": "2"}})
	f.waitForSyncedColumn("False")
	f.waitForRow("True", "2", "1")
	env.KubectlError(t, "wait", "--for=condition=ParentsSynced", controller, soon)
	env.Kubectl(t, "wait", "--for=condition=ParentsSynced=False", controller, enough)
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		want := "Thing " + f.Namespace + "/b: "
		message := messageOf(status, v1alpha1.ConditionParentsSynced)
		if !strings.HasPrefix(message, want) || !strings.Contains(message, "no such shelf") || !strings.HasSuffix(message, "(1 of 2 parents)") {
			return fmt.Errorf("it says %q", message)
		}
		return nil
	})

	f.Hook.Handle(answers(t, oneConfigMap))
	f.PatchParent("b", object{"spec": object{"value": "3"}})
	env.Kubectl(t, "wait", "--for=condition=ParentsSynced", controller, enough)
	f.waitForSyncedColumn("True")
	env.WaitForEvent(t, f.Namespace, "b", "SyncRecovered", "no such shelf")
	if told := f.eventsAbout("a", "SyncRecovered"); len(told) > 0 {
		t.Errorf("a has not failed, but it says %q", told[0].Message)
	}

	release := make(chan struct{})
	f.Hook.Handle(func(ctx context.Context, call hook.Call) hook.Answer {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return answers(t, oneConfigMap)(ctx, call)
	})
	f.CreateParent("c", object{"value": "1"})
	f.waitForSyncedColumn("Unknown")
	env.KubectlError(t, "wait", "--for=condition=ParentsSynced", controller, soon)
	close(release)
	env.Kubectl(t, "wait", "--for=condition=ParentsSynced", controller, enough)
}

// A controller that has just been created has not counted its parents yet. It must not pass for one
// whose parents are all synced.
func TestParentsSyncedIsNotTrueBeforeTheFirstSync(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, failingAbout(t, "a", "no")))
	f.CreateParent("a", object{"value": "1"})
	watched, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	f.RunComposite(f.CompositeSpec())
	for event := range watched.ResultChan() {
		controller, ok := event.Object.(*v1alpha1.CompositeController)
		if !ok || controller.Name != f.Controller.Name {
			continue
		}
		synced := meta.FindStatusCondition(controller.Status.Conditions, v1alpha1.ConditionParentsSynced)
		switch {
		case synced == nil:
		case synced.Status == metav1.ConditionTrue:
			t.Fatalf("it says %s, with the counts %+v", synced.Message, controller.Status.Parents)
		case synced.Status == metav1.ConditionFalse:
			return
		}
	}
}

// The status of a controller follows what is seen of its parents. Each parent is created right after
// a write of the status, which is the worst time. A busy machine may cause a slow try.
func TestTheStatusFollowsTheParentsWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	const tries, soon = 5, 2 * time.Second
	f := start(t, answers(t, oneConfigMap))
	f.waitForRow("True", "0", "0")
	parents, err := f.ParentClient().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer parents.Stop()
	controllers, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + f.Controller.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer controllers.Stop()
	var lags []time.Duration
	for i := range tries {
		name := fmt.Sprint("a-", i)
		f.CreateParent(name, object{"value": "1"})
		shown := seen(t, parents, func(parent *unstructured.Unstructured) bool {
			_, has, _ := unstructured.NestedFieldNoCopy(parent.Object, "status", "children")
			return parent.GetName() == name && has
		})
		counted := seen(t, controllers, func(controller *v1alpha1.CompositeController) bool {
			counts := controller.Status.Parents
			return counts != nil && counts.Synced == int32(i+1)
		})
		lags = append(lags, counted.Sub(shown))
	}
	slices.Sort(lags)
	if median := lags[tries/2]; median > soon {
		t.Errorf("the status is late by %s, want %s at most", lags, soon)
	}
}

// seen returns when a watch has shown an object that fits.
func seen[O any](t *testing.T, watched watch.Interface, fits func(O) bool) time.Time {
	t.Helper()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		select {
		case event, open := <-watched.ResultChan():
			if object, ok := event.Object.(O); ok && fits(object) {
				return time.Now()
			}
			if !open {
				t.Fatal("the watch has ended")
			}
		case <-timeout.C:
			t.Fatal("it is not shown within a minute")
		}
	}
}
