// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (f *fixture) hold(reason error) {
	f.heldBy.Store(&reason)
	f.HoldChanged()
}

func TestControllersStopWhileTheyAreHeld(t *testing.T) {
	f := newFixture(t)
	f.create(t, controllerOf("a", "v1 pods"))
	f.untilReady(t, "a", "True Running")
	f.hold(errors.New("another program acts"))
	f.untilReady(t, "a", "False Held: another program acts")
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
	f := newFixture(t)
	f.hold(errors.New("another program acts"))
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
