// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

type (
	object  = harness.Object
	request = hook.DecoratorRequest
	change  = harness.DecoratorChange
)

// fixture is the fixture of a DecoratorController. Its parents are the targets.
type fixture struct{ harness.Fixture }

// start runs a controller. Its targets are all objects of a type of the test's own, its attachments
// are ConfigMaps that are updated in place. Changes of the spec are made before it is created.
func start(t *testing.T, handler hook.Handler, changes ...change) *fixture {
	t.Helper()
	f := prepare(t, harness.CRD{Kind: "Thing"}, handler)
	f.RunDecorator(f.DecoratorSpec(changes...))
	return f
}

// prepare returns a fixture without a controller.
func prepare(t *testing.T, crd harness.CRD, handler hook.Handler) *fixture {
	t.Helper()
	return &fixture{harness.NewFixture(t, env, crd, hook.Serve(t, handler))}
}

// answers makes a hook out of a function from request to answer.
func answers(t testing.TB, answer func(request) object) hook.Handler {
	return hook.Answering(t, answer)
}

// oneConfigMap answers one ConfigMap named like the target that holds its spec.value.
func oneConfigMap(asked request) object {
	value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
	return object{"attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{"value": value})}}
}

// label is the label by which tests select targets.
const label = "run"

// selecting restricts the controller to targets with the label run: here.
func selecting(spec *v1alpha1.DecoratorControllerSpec) {
	spec.Resources[0].LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{label: "here"}}
}

// selected returns the metadata of a target that is selected.
func selected(finalizers ...any) object {
	return object{"labels": object{label: "here"}, "finalizers": finalizers}
}

// withFinalize adds a finalize hook beside the sync hook.
func withFinalize(spec *v1alpha1.DecoratorControllerSpec) {
	spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
}

// withCustomize adds a customize hook beside the sync hook.
func withCustomize(spec *v1alpha1.DecoratorControllerSpec) {
	spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
}

// speaking sets the protocol version of all hooks.
func speaking(version v1alpha1.HookVersion) change {
	return func(spec *v1alpha1.DecoratorControllerSpec) {
		for _, one := range []*v1alpha1.Hook{spec.Hooks.Sync, spec.Hooks.Finalize, spec.Hooks.Customize} {
			if one != nil {
				one.Version = ptr.To(version)
			}
		}
	}
}

// byPath answers each path of the hook with a function.
func byPath(t testing.TB, answer map[string]func(request) object) hook.Handler {
	return func(ctx context.Context, call hook.Call) hook.Answer {
		if answer[call.Path] == nil {
			return hook.Text(404, "no such hook: "+call.Path)
		}
		return answers(t, answer[call.Path])(ctx, call)
	}
}

func isDeleted(asked request) bool { return asked.Object.GetDeletionTimestamp() != nil }

// touch changes an annotation of a target and waits until a path of the hook was sent the change.
func (f *fixture) touch(path, target string) {
	f.Helper()
	touch := harness.Name("touch")
	f.PatchParent(target, object{"metadata": object{"annotations": object{f.TouchAnnotation(): touch}}})
	harness.WaitForRequest(&f.Fixture, path, target, func(asked request) bool { return asked.Object.GetAnnotations()[f.TouchAnnotation()] == touch })
}

// waitForLabel waits until a target has a label with a value; empty is no such label.
func (f *fixture) waitForLabel(target, name, want string) {
	f.Helper()
	f.WaitForParent(target, func(found *unstructured.Unstructured) error {
		if got := found.GetLabels()[name]; got != want {
			return fmt.Errorf("the label %s should be %q, but is %q", name, want, got)
		}
		return nil
	})
}
