// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// running selects the parents whose label run has the value.
func running(value string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"run": value}}
	}
}

// labelled creates a parent whose label run has the value.
func (f *fixture) labelled(name, value string, finalizers ...string) {
	f.Helper()
	parent := &unstructured.Unstructured{Object: object{
		"apiVersion": f.parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": name}, "spec": object{},
	}}
	parent.SetLabels(map[string]string{"run": value})
	parent.SetFinalizers(finalizers)
	if _, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).Create(f.Context(), parent, metav1.CreateOptions{}); err != nil {
		f.Fatalf("create parent %s: %v", name, err)
	}
}

// watchedWith are the selectors of the watches of parents that the server has begun, in order.
func (f *fixture) watchedWith() []string {
	f.Helper()
	events, err := env.Host.Audit().Find(0, ofServer(f.parents, "watch"))
	if err != nil {
		f.Fatal(err)
	}
	var selectors []string
	for _, event := range events {
		requested, err := url.Parse(event.RequestURI)
		if err != nil {
			f.Fatal(err)
		}
		selectors = append(selectors, requested.Query().Get("labelSelector"))
	}
	return selectors
}

// another runs a further controller for the fixture's parents, with a hook of its own that
// wants no children and the status there is.
func (f *fixture) another(changes ...func(*v1alpha1.CompositeControllerSpec)) *fixture {
	f.Helper()
	other := *f
	other.hook = hook.Serve(f, answers(f, func(request) object { return object{"status": object{"synced": true}} }))
	other.controller = other.create(other.spec(append(changes, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = nil
	})...))
	return &other
}

// calledFor is how often the hook has been called for a parent.
func (f *fixture) calledFor(parent string) int {
	asked, _ := f.calls(parent)
	return len(asked)
}

func (f *fixture) waitUntilCalledFor(parent string, times int) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		if called := f.calledFor(parent); called < times {
			return fmt.Errorf("the hook was called %d times about %s, want %d", called, parent, times)
		}
		return nil
	})
}

func TestParentsThatAreNotSelectedStayInTheHost(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, never).handle))
	f.labelled("in", "here")
	f.labelled("out", "there")
	f.controller = f.create(f.spec(running("here")))
	f.waitForSynced("in")
	if selectors := f.watchedWith(); len(selectors) == 0 || slices.ContainsFunc(selectors, func(selector string) bool { return selector != "run in (here)" }) {
		t.Errorf("parents were watched with the selectors %q", selectors)
	}

	f.patchParent("out", `{"metadata":{"labels":{"run":"here"}}}`)
	f.waitForSynced("out")

	f.patchParent("in", `{"metadata":{"labels":{"run":"there"}}}`)
	f.labelled("later", "here")
	f.waitForSynced("later")
	called := f.calledFor("in")
	f.patchConfigMap("in", `{"data":{"edited":"yes"}}`)
	f.patchConfigMap("later", `{"data":{"edited":"yes"}}`)
	f.waitUntilQuiet("later")
	if now := f.calledFor("in"); now != called {
		t.Errorf("the hook was called %d times about a parent that is not selected any more", now-called)
	}
	if !f.exists("in") {
		t.Error("the children of a parent that is not selected any more are gone")
	}

	f.patchParent("in", `{"metadata":{"labels":{"run":"here"}}}`)
	f.waitUntilCalledFor("in", called+1)
}

func TestAWatchIsWidenedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, never).handle))
	f.labelled("still", "here")
	f.labelled("busy", "here")
	f.labelled("others", "there")
	f.labelled("nobodys", "nowhere")
	f.controller = f.create(f.spec(running("here")))
	f.waitForSynced("still")
	f.waitForSynced("busy")
	f.waitUntilQuiet("still")

	// While others come and go, each change of a parent arrives.
	change := 0
	next := func() {
		change++
		called := f.calledFor("busy")
		f.patchParent("busy", fmt.Sprintf(`{"spec":{"value":"%d"}}`, change))
		f.waitUntilCalledFor("busy", called+1)
	}
	next()
	next()
	still := f.calledFor("still") // the changes of the other came after all that leads to calls about it
	second := f.another(running("there"))
	next()
	second.waitUntilCalledFor("others", 1)
	next()
	all := f.another()
	next()
	for _, parent := range []string{"still", "busy", "others", "nobodys"} {
		all.waitUntilCalledFor(parent, 1)
	}
	next()
	env.Kubectl(t, "delete", "cc", all.controller.Name)
	next()

	if now := f.calledFor("still"); now != still {
		t.Errorf("the hook was called %d times about a parent that nobody touched", now-still)
	}
	if called := f.calledFor("others") + f.calledFor("nobodys") + second.calledFor("busy") + second.calledFor("nobodys"); called > 0 {
		t.Errorf("hooks were called %d times about parents of others", called)
	}
	if !f.exists("still") || !f.exists("busy") {
		t.Error("children of parents that were there all the time are gone")
	}
	// A watch that the host has ended is begun again.
	if selectors := slices.Compact(f.watchedWith()); !slices.Equal(selectors, []string{"run in (here)", "run in (here,there)", ""}) {
		t.Errorf("parents were watched with the selectors %q", selectors)
	}
	waitForWatches(t, f.parents, 1)
}

func TestAControllerThatFinalizesSeesAllParents(t *testing.T) {
	t.Parallel()
	f := start(t, scripted(t, done).handle, running("here"), withFinalize)
	f.labelled("a", "here")
	f.waitForFinalizers("a", f.finalizer())
	f.patchParent("a", `{"metadata":{"labels":{"run":"there"}}}`)
	f.waitForFinalizers("a")
	if selectors := slices.Compact(f.watchedWith()); !slices.Equal(selectors, []string{""}) {
		t.Errorf("parents were watched with the selectors %q", selectors)
	}
}

// The finalizer may be left by another server, which the status does not tell.
func TestAFinalizerLeftOnAParentThatIsNotSelectedIsTakenOff(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, never).handle))
	name := harness.Name("test")
	finalizer := "metacontroller.io/compositecontroller-" + name
	f.labelled("selected", "here", finalizer)
	f.labelled("not-selected", "there", finalizer, foreign)
	f.controller = f.createAs(name, f.spec(running("here")))
	f.waitForFinalizers("selected")
	f.waitForFinalizers("not-selected", foreign)
	f.patchParent("not-selected", `{"metadata":{"finalizers":null}}`)
}
