// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// PatchController applies a JSON merge patch to the fixture's controller.
func (f *Fixture) PatchController(patch Object) {
	f.Helper()
	f.Env.PatchController(f, f.Controller, patch)
}

// DeleteController deletes the fixture's controller, which may stay until its finalizer is off its
// parents.
func (f *Fixture) DeleteController() {
	f.Helper()
	f.Env.DeleteController(f, f.Controller)
}

// WaitUntilControllerIsGone waits until the fixture's controller is gone.
func (f *Fixture) WaitUntilControllerIsGone() {
	f.Helper()
	f.Env.WaitUntilControllerIsGone(f, f.Controller)
}

// WaitForController waits until check accepts the fixture's controller.
func (f *Fixture) WaitForController(check func(metav1.ObjectMeta, v1alpha1.ControllerStatus) error) {
	f.Helper()
	f.Env.WaitForController(f, f.Controller, check)
}

// WaitForReady waits until the condition Ready of the fixture's controller has a status and a
// reason.
func (f *Fixture) WaitForReady(status metav1.ConditionStatus, reason string) {
	f.Helper()
	f.Env.WaitForReady(f, f.Controller, status, reason)
}

// WaitForCondition waits until a condition of the fixture's controller has a status.
func (f *Fixture) WaitForCondition(kind string, status metav1.ConditionStatus) {
	f.Helper()
	f.Env.WaitForCondition(f, f.Controller, kind, status)
}

// WaitForWriteLoop waits until the condition Warnings of the fixture's controller reports a write loop
// with all of the words.
func (f *Fixture) WaitForWriteLoop(words ...string) {
	f.Helper()
	f.Env.WaitForWriteLoop(f, f.Controller, words...)
}

// WaitForDrainFinalizer waits until the fixture's controller has the drain finalizer or has not, and
// its status lists these types of parents.
func (f *Fixture) WaitForDrainFinalizer(want bool, parents ...schema.GroupVersionResource) {
	f.Helper()
	f.Env.WaitForDrainFinalizer(f, f.Controller, want, parents...)
}
