// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// deleting returns a controller that is being deleted, whose finalizer may be on parents.
func deleting(name string) *v1alpha1.CompositeController {
	object := controllerOf(name)
	now := metav1.Now()
	object.DeletionTimestamp, object.Finalizers = &now, []string{v1alpha1.DrainFinalizer}
	return object
}

// The host takes long to list all parents of a type.
func TestControllersThatWaitForTheirParentsDoNotHoldUpTheStartOfOthers(t *testing.T) {
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
