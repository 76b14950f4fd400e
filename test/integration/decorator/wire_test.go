// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

const (
	syncPath      = "/sync"
	finalizePath  = "/finalize"
	customizePath = "/customize"
)

// foreign is somebody else's finalizer. It keeps an object there.
const foreign = "example.com/keep"

// label is what tests select targets by.
const label = "run"

// selecting restricts the controller to targets with the label run: here.
func selecting(spec *v1alpha1.DecoratorControllerSpec) {
	spec.Resources[0].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{label: "here"}}
}

// selected is the metadata of a target that is selected.
func selected(finalizers ...any) object {
	return object{"labels": object{label: "here"}, "finalizers": finalizers}
}

// withFinalize adds a finalize hook beside the sync hook.
func withFinalize(spec *v1alpha1.DecoratorControllerSpec) {
	spec.Hooks.Finalize = hookBeside(spec.Hooks.Sync, finalizePath)
}

// withCustomize adds a customize hook beside the sync hook.
func withCustomize(spec *v1alpha1.DecoratorControllerSpec) {
	spec.Hooks.Customize = hookBeside(spec.Hooks.Sync, customizePath)
}

func hookBeside(sync *v1alpha1.Hook, path string) *v1alpha1.Hook {
	url := strings.TrimSuffix(*sync.Webhook.URL, syncPath) + path
	return &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}
}

// speaking has all hooks speak a version of the protocol.
func speaking(version v1alpha1.HookVersion) change {
	return func(spec *v1alpha1.DecoratorControllerSpec) {
		for _, one := range []*v1alpha1.Hook{spec.Hooks.Sync, spec.Hooks.Finalize, spec.Hooks.Customize} {
			if one != nil {
				one.Version = ptr.To(version)
			}
		}
	}
}

// byPath answers each path of the hook with what a function makes of the request.
func byPath(t testing.TB, answer map[string]func(request) object) hook.Handler {
	return func(ctx context.Context, call hook.Call) hook.Answer {
		if answer[call.Path] == nil {
			return hook.Text(404, "no such hook: "+call.Path)
		}
		return answers(t, answer[call.Path])(ctx, call)
	}
}

// calls are the requests about a target that were sent to a path, oldest first.
func (f *fixture) calls(path, target string) []request {
	f.Helper()
	var found []request
	for _, call := range f.hook.Calls() {
		var asked request
		if err := call.Decode(&asked); err != nil {
			f.Fatal(err)
		}
		if call.Path == path && (asked.Object.GetName() == target || asked.Parent.GetName() == target) {
			found = append(found, asked)
		}
	}
	return found
}

// waitForCall waits until a path of the hook was called about a target with a request that
// is as it should be, and returns it.
func (f *fixture) waitForCall(path, target string, is func(request) bool) request {
	f.Helper()
	var found request
	env.Eventually(f, func(context.Context) error {
		calls := f.calls(path, target)
		i := slices.IndexFunc(calls, is)
		if i < 0 {
			return fmt.Errorf("none of the %d calls of %s about %s is the one that is waited for", len(calls), path, target)
		}
		found = calls[i]
		return nil
	})
	return found
}

func isDeleted(asked request) bool { return asked.Object.GetDeletionTimestamp() != nil }

// touched is the annotation that touch changes, which each controller has of its own: of a
// target that controllers share, the hook of one may never be shown what is changed again.
func (f *fixture) touched() string { return "touched-" + f.controller.Name }

// touch changes an annotation of a target and waits until a path of the hook was shown it.
func (f *fixture) touch(path, target string) {
	f.Helper()
	touch := harness.Name("touch")
	f.patch(target, object{"metadata": object{"annotations": object{f.touched(): touch}}})
	f.waitForCall(path, target, func(asked request) bool { return asked.Object.GetAnnotations()[f.touched()] == touch })
}

// quiesce waits until the hook was shown a target, and what came of it is over. The target
// must be as it is to stay.
func (f *fixture) quiesce(target string) {
	f.Helper()
	f.touch(syncPath, target)
	f.touch(syncPath, target) // no sync begins before the one before it has ended
}

// itself is the fixture's DecoratorController.
func (f *fixture) itself() harness.Controller {
	return harness.Controller{Resource: "decoratorcontrollers", Name: f.controller.Name}
}

// finalizer is the one of the fixture's controller.
func (f *fixture) finalizer() string {
	return "metacontroller.io/decoratorcontroller-" + f.controller.Name
}

// requests are those of our server about a target since a position.
func (f *fixture) requests(from hostcluster.Position, target string) []string {
	f.Helper()
	return env.Requests(f, from, hostcluster.Request{
		Group: f.targets.Group, Resource: f.targets.Resource, Namespace: f.namespace, Name: target,
	})
}

// waitForFinalizers waits until a target has exactly these finalizers.
func (f *fixture) waitForFinalizers(target string, want ...string) *unstructured.Unstructured {
	f.Helper()
	return f.waitFor(target, func(found *unstructured.Unstructured) error {
		if got := found.GetFinalizers(); !slices.Equal(got, want) {
			return fmt.Errorf("the finalizers should be %v, but are %v", want, got)
		}
		return nil
	})
}

// waitForLabel waits until a target has a label with a value; empty is no such label.
func (f *fixture) waitForLabel(target, name, want string) {
	f.Helper()
	f.waitFor(target, func(found *unstructured.Unstructured) error {
		if got := found.GetLabels()[name]; got != want {
			return fmt.Errorf("the label %s should be %q, but is %q", name, want, got)
		}
		return nil
	})
}
