// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestWhatIsNextAfterAWrite(t *testing.T) {
	resource, broken := schema.GroupResource{Resource: "compositecontrollers"}, errors.New("no")
	conflict := apierrors.NewConflict(resource, "a", broken)
	tests := map[string]struct {
		err     error
		done    bool
		failure error
	}{
		"it went well":                    {nil, true, nil},
		"the object changed meanwhile":    {conflict, false, nil},
		"the object went meanwhile":       {apierrors.NewNotFound(resource, "a"), false, nil},
		"the spec is too new":             {errSpecIsNew, false, nil},
		"it failed":                       {broken, false, broken},
		"there are more parents to drain": {&waitsForDrain{}, true, nil},
		"parents could not be drained":    {&waitsForDrain{failure: broken}, true, broken},
		"a parent changes all the time":   {&waitsForDrain{failure: conflict}, true, conflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if done, failure := resultOf(t.Context(), "a", test.err); done != test.done || !errors.Is(failure, test.failure) {
				t.Errorf("done %v, failure %v", done, failure)
			}
		})
	}
}

func TestAWriteThatTheEndCutsShortIsNoFailure(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	if done, failure := resultOf(ctx, "a", ctx.Err()); done || failure != nil {
		t.Errorf("done %v, failure %v", done, failure)
	}
}

// deleting returns a controller that is being deleted, whose finalizer may be on parents.
func deleting(name string) *v1alpha1.CompositeController {
	object := controllerOf(name)
	now := metav1.Now()
	object.DeletionTimestamp, object.Finalizers = &now, []string{v1alpha1.DrainFinalizer}
	return object
}

// The host takes long to list all parents of a type.
func TestControllersThatWaitForTheirParentsDoNotHoldUpTheStartOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host.set("webs", hangsAtPages)
	for i := range workers {
		f.create(t, deleting(fmt.Sprint("deleted-", i)))
	}
	waitUntil(t, func() string { return fmt.Sprintf("%d lists were asked for", f.host.lists("webs")) }, func() bool { return f.host.lists("webs") >= workers })
	f.create(t, controllerOf("fresh", "v1 pods"))
	f.untilReady(t, "fresh", "True Running")
	for i := range workers {
		f.untilReady(t, fmt.Sprint("deleted-", i), "False Deleting")
	}
	f.host.set("webs", streams)
	for i := range workers {
		waitUntil(t, func() string { return "a deleted controller keeps its finalizer" }, func() bool {
			object, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), fmt.Sprint("deleted-", i), metav1.GetOptions{})
			return err != nil || len(object.Finalizers) == 0
		})
	}
}

func (f *fixture) hold(reason error) {
	f.heldBy.Store(&reason)
	f.HoldChanged()
}

func TestControllersStopWhileTheyAreHeld(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, controllerOf("a", "v1 pods"))
	f.untilReady(t, "a", "True Running")
	f.hold(errors.New("this server runs no controllers"))
	f.untilReady(t, "a", "False Held: this server runs no controllers")
	if f.runs("a") {
		t.Error("the controller runs although its status says that it is held")
	}
	f.create(t, controllerOf("b", "v1 pods"))
	f.untilReady(t, "b", "False Held")
	f.hold(nil)
	f.untilReady(t, "a", "True Running")
	f.untilReady(t, "b", "True Running")
}

// To remove the finalizer from parents is to act on them.
func TestAControllerThatIsDeletedWaitsWhileItIsHeld(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hold(errors.New("this server runs no controllers"))
	f.create(t, deleting("a"))
	f.untilReady(t, "a", "False Held")
	if lists := f.host.lists("webs"); lists > 0 {
		t.Errorf("parents were listed %d times", lists)
	}
	f.hold(nil)
	waitUntil(t, func() string { return "it keeps its finalizer" }, func() bool {
		object, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), "a", metav1.GetOptions{})
		return err != nil || len(object.Finalizers) == 0
	})
}
