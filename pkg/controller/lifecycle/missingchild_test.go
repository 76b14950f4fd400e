// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
)

// finalizing is a controller with a finalize hook.
func finalizing(name string, children ...string) *v1alpha1.CompositeController {
	object := controllerOf(name, children...)
	object.Spec.Hooks.Finalize = object.Spec.Hooks.Sync
	object.Finalizers = []string{v1alpha1.DrainFinalizer}
	object.Status.HeldResources = object.ParentTypes()
	return object
}

func TestAControllerThatStartsWithoutAChildTypeSyncsWhatIsDeleted(t *testing.T) {
	f := newFixture(t)
	f.create(t, finalizing("a", "v1 pods", "v1 nonsense"))
	f.untilReady(t, "a", `False UnknownType: child type: can't find resource "nonsense"`)
	waitUntil(t, func() string { return "the controller does not run" }, func() bool { return f.runs("a") })
	spec := f.state("a").getRunning().spec
	if spec.Lacks == nil || len(spec.Children) != 1 || !strings.Contains(string(spec.Object), "nonsense") {
		t.Errorf("it lacks %v, its children are %v and hooks are sent %s", spec.Lacks, spec.Children, spec.Object)
	}
	f.update(t, "a", func(object *v1alpha1.CompositeController) {
		object.Spec.ChildResources = object.Spec.ChildResources[:1]
	})
	f.untilReady(t, "a", "True Running")
	if spec := f.state("a").getRunning().spec; spec.Lacks != nil {
		t.Errorf("with all types, it lacks %v", spec.Lacks)
	}
}

// Its parents have no finalizer, so none hangs.
func TestAControllerWithoutAFinalizeHookDoesNotStartWithoutAChildType(t *testing.T) {
	f := newFixture(t)
	f.create(t, controllerOf("a", "v1 pods", "v1 nonsense"))
	f.untilReady(t, "a", "False UnknownType")
	if f.runs("a") {
		t.Error("the controller runs")
	}
}

func TestAControllerRunsOnWithoutAChildType(t *testing.T) {
	f := makeFixture(t, fake.NewSimpleClientset())
	f.create(t, finalizing("a", "v1 pods"))
	waitUntil(t, func() string { return "the controller does not run" }, func() bool {
		_, _ = f.reconcile(t.Context(), "a")
		return f.runs("a")
	})
	defer f.endAll(t.Context())
	state := f.state("a")
	running := state.getRunning()
	// As if the host had lost the type, the spec that runs cannot be resolved any more.
	lacking := finalizing("a", "v1 pods", "v1 nonsense")
	running.object = lacking
	_, err := f.api.resolve(t.Context(), f.Discovery, lacking)
	f.cannotRun(t.Context(), state, lacking, err)
	if state.getRunning() != running || !state.lacksChild {
		t.Error("another controller runs, or none")
	}
	if state.problem.RunningGeneration != 0 {
		t.Errorf("an earlier spec is said to run, of generation %d", state.problem.RunningGeneration)
	}
	lacking.Spec.ParentResource.Resource = "nothing"
	_, err = f.api.resolve(t.Context(), f.Discovery, lacking)
	if f.cannotRun(t.Context(), state, lacking, err); state.getRunning() != nil {
		t.Error("the controller runs without the type of its parents")
	}
}
