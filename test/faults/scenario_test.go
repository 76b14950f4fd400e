// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// scenario is a short story of what users do, with a hook that is a pure function of what it is
// asked.
type scenario struct {
	name string
	// create creates the controller, and what is there before it.
	create func(*run)
	// answer is the hook.
	answer func(asked) object
	steps  []step
	// maxUnavailable is how many Parts may be down at once that were ready before. It is looked at
	// if the scenario has a kubelet.
	maxUnavailable int
	// hasKubelet is true if somebody makes Parts ready.
	hasKubelet bool
	// crashesServerSide is true if processes die with server-side apply too, and not only with dynamic
	// apply. The other scenarios make no other requests.
	crashesServerSide bool
	// rolls is true if there are ControllerRevisions.
	rolls bool
}

// step is what a user does, and what the host has when the controller is done with it.
type step struct {
	name string
	do   func(*run)
	// until is asked only without faults.
	until func(*run) error
	// recreates is how often each child may be deleted and created again.
	recreates int
	// orphansRevisions is true if the host may have taken the ControllerRevisions from their owner. It does
	// so only if its garbage collector has seen them, and our server then leaves them as they are.
	orphansRevisions bool
}

// asked is what a hook is asked, of either kind of controller.
type asked struct {
	path string
	hook.CompositeRequest
	decorator hook.DecoratorRequest
}

// isFinalizing reports whether the hook has to finalize.
func (a asked) isFinalizing() bool { return a.path == harness.FinalizePath }

// parent is the parent or the target.
func (a asked) parent() *unstructured.Unstructured {
	if a.decorator.Object.Object != nil {
		return &a.decorator.Object
	}
	return &a.Parent
}

// observed are the children of a kind, such as itemKind, by name.
func (a asked) observed(kind string) map[string]object {
	if a.decorator.Attachments != nil {
		return a.decorator.Attachments[kind]
	}
	return a.Children[kind]
}

// number and text read a field of the spec of the parent.
func (a asked) number(field string) int64 {
	value, _, _ := unstructured.NestedInt64(a.parent().Object, "spec", field)
	return value
}

func (a asked) text(field string) string {
	value, _, _ := unstructured.NestedString(a.parent().Object, "spec", field)
	return value
}

// items returns spec.replicas Items with spec.value.
func (a asked) items() []object {
	children := []object{}
	for i := range a.number("replicas") {
		children = append(children, item(fmt.Sprintf("%s-%d", a.parent().GetName(), i), object{"value": a.text("value")}))
	}
	return children
}

// answer is the hook of a run.
func (r *run) answer(ctx context.Context, call hook.Call) hook.Answer {
	question := asked{path: call.Path}
	for _, into := range []any{&question.CompositeRequest, &question.decorator} {
		if err := call.Decode(into); err != nil {
			r.Errorf("the hook was sent something that cannot be read: %v", err)
		}
	}
	if r.pattern.called != nil {
		r.pattern.called(ctx, r, question)
	}
	return hook.JSON(r.scenario.answer(question))
}

// has returns an error unless a value of an object is as wanted; nil is no such value.
func (r *run) has(kind, name string, want any, path ...string) error {
	found := r.witness.get(kind, name)
	if found == nil {
		return fmt.Errorf("there is no %s %s", kind, name)
	}
	if got, _, _ := unstructured.NestedFieldNoCopy(found.Object, path...); got != want {
		return fmt.Errorf("%s %s should have %s: %v, but has %v", kind, name, strings.Join(path, "."), want, got)
	}
	return nil
}

// isGone returns an error if there is such an object.
func (r *run) isGone(kind, name string) error {
	if r.witness.get(kind, name) != nil {
		return fmt.Errorf("%s %s should be gone", kind, name)
	}
	return nil
}
