// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// running selects the parents with the label run of this value.
func running(value string) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"run": value}}
	}
}

// labelled creates a parent with the label run of this value.
func (f *fixture) labelled(name, value string, finalizers ...string) {
	f.Helper()
	f.CreateParentWith(name, object{"labels": object{"run": value}, "finalizers": finalizers}, object{})
}

// watchedWith returns the label selectors of the server's watches of parents, in order.
func (f *fixture) watchedWith() []string {
	f.Helper()
	events, err := env.Host.Audit().Find(0, ofServer(f.Parents, "watch"))
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

// startAnother runs a second controller of the same parents, with its own hook, which answers no
// children and the status synced: true.
func (f *fixture) startAnother(changes ...change) *fixture {
	f.Helper()
	other := *f
	other.Hook = hook.Serve(f, answers(f, func(request) object { return object{"status": object{"synced": true}} }))
	other.RunComposite(other.CompositeSpec(append(changes, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = nil
	})...))
	return &other
}

// callsAbout returns how often the hook was called about a parent.
func (f *fixture) callsAbout(parent string) int {
	asked, _ := f.calls(parent)
	return len(asked)
}

func (f *fixture) waitForCallsAbout(parent string, times int) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		if called := f.callsAbout(parent); called < times {
			return fmt.Errorf("the hook was called %d times about %s, want %d", called, parent, times)
		}
		return nil
	})
}

func TestParentsThatAreNotSelectedStayInTheHost(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, notFinalized).handle))
	f.labelled("in", "here")
	f.labelled("out", "there")
	f.RunComposite(f.CompositeSpec(running("here")))
	f.waitForSynced("in")
	if selectors := f.watchedWith(); len(selectors) == 0 || slices.ContainsFunc(selectors, func(selector string) bool { return selector != "run in (here)" }) {
		t.Errorf("parents were watched with the selectors %q", selectors)
	}

	f.PatchParent("out", object{"metadata": object{"labels": object{"run": "here"}}})
	f.waitForSynced("out")

	f.PatchParent("in", object{"metadata": object{"labels": object{"run": "there"}}})
	f.labelled("later", "here")
	f.waitForSynced("later")
	called := f.callsAbout("in")
	f.PatchConfigMap("in", object{"data": object{"edited": "yes"}})
	f.PatchConfigMap("later", object{"data": object{"edited": "yes"}})
	f.Settle("later")
	if now := f.callsAbout("in"); now != called {
		t.Errorf("the hook was called %d times about a parent that is not selected any more", now-called)
	}
	if !f.HasConfigMap("in") {
		t.Error("the children of a parent that is not selected any more are gone")
	}

	f.PatchParent("in", object{"metadata": object{"labels": object{"run": "here"}}})
	f.waitForCallsAbout("in", called+1)
}

func TestAWatchIsWidenedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, notFinalized).handle))
	f.labelled("still", "here")
	f.labelled("busy", "here")
	f.labelled("others", "there")
	f.labelled("nobodys", "nowhere")
	f.RunComposite(f.CompositeSpec(running("here")))
	f.waitForSynced("still")
	f.waitForSynced("busy")
	f.Settle("still")

	// Each change of a parent arrives while other controllers start, change and stop.
	change := 0
	next := func() {
		change++
		called := f.callsAbout("busy")
		f.PatchParent("busy", object{"spec": object{"value": fmt.Sprint(change)}})
		f.waitForCallsAbout("busy", called+1)
	}
	next()
	next()
	still := f.callsAbout("still") // the changes of the other came after all that leads to calls about it
	second := f.startAnother(running("there"))
	next()
	second.waitForCallsAbout("others", 1)
	next()
	all := f.startAnother()
	next()
	for _, parent := range []string{"still", "busy", "others", "nobodys"} {
		all.waitForCallsAbout(parent, 1)
	}
	next()
	called := all.callsAbout("nobodys")
	all.PatchController(object{"spec": object{"resyncPeriodSeconds": 3600}})
	all.waitForCallsAbout("nobodys", called+1)
	next()
	env.Kubectl(t, "delete", "cc", all.Controller.Name)
	next()

	if now := f.callsAbout("still"); now != still {
		t.Errorf("the hook was called %d times about a parent that nobody touched", now-still)
	}
	if wrong := f.callsAbout("others") + f.callsAbout("nobodys") + second.callsAbout("busy") + second.callsAbout("nobodys"); wrong > 0 {
		t.Errorf("hooks were called %d times about parents of others", wrong)
	}
	if !f.HasConfigMap("still") || !f.HasConfigMap("busy") {
		t.Error("children of parents that were there all the time are gone")
	}
	// A watch that the host has closed is started again.
	if selectors := slices.Compact(f.watchedWith()); !slices.Equal(selectors, []string{"run in (here)", "run in (here,there)", ""}) {
		t.Errorf("parents were watched with the selectors %q", selectors)
	}
	env.WaitForWatches(t, f.Parents, 1)
}

// Another server may have left the finalizer. The status does not show that.
func TestAFinalizerLeftOnAParentThatIsNotSelectedIsTakenOff(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, notFinalized).handle))
	name := harness.Name("test")
	finalizer := "metacontroller.io/compositecontroller-" + name
	f.labelled("selected", "here", finalizer)
	f.labelled("not-selected", "there", finalizer, harness.OtherFinalizer)
	f.Controller = harness.Composite(f.CreateComposite(name, f.CompositeSpec(running("here"))).Name)
	f.WaitForFinalizers("selected")
	f.WaitForFinalizers("not-selected", harness.OtherFinalizer)
	f.PatchParent("not-selected", object{"metadata": object{"finalizers": nil}})
}
