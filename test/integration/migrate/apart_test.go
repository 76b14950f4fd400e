// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// standIn plays Metacontroller as a client of the API: it follows the controllers that a selector matches, and all revisions, of which
// it keeps on writing one.
type standIn struct {
	*estate
	controllers, revisions []cache.SharedIndexInformer
	stop                   func()
}

// startOriginal starts Metacontroller with a selector.
func (e *estate) startOriginal(selector string) *standIn {
	e.Helper()
	e.patchOriginal(fmt.Sprintf(`[{"op":"replace","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["--target-label-selector=%s"]}]`, selector))
	e.waitForOriginal(true)
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Context()))
	var running sync.WaitGroup
	s := &standIn{estate: e, stop: func() { cancel(); running.Wait() }}
	inform := func(resource schema.GroupVersionResource, selector string) cache.SharedIndexInformer {
		informer := dynamicinformer.NewFilteredDynamicInformer(env.Dynamic, resource, "", 0, nil, func(options *metav1.ListOptions) { options.LabelSelector = selector }).Informer()
		running.Go(func() { informer.Run(ctx.Done()) })
		return informer
	}
	s.controllers = []cache.SharedIndexInformer{inform(compositeControllers, selector), inform(decoratorControllers, selector)}
	s.revisions = []cache.SharedIndexInformer{inform(controllerRevisions, "")}
	e.Cleanup(s.stop)
	return s
}

// stopOriginal stops Metacontroller, as one does before the labels of controllers are changed: it does not notice that.
func (s *standIn) stopOriginal() {
	s.Helper()
	s.stop()
	s.patchOriginal(`[{"op":"replace","path":"/spec/replicas","value":0}]`)
	s.waitForOriginal(false)
}

func (e *estate) patchOriginal(patch string) {
	e.Helper()
	if _, err := env.Kube.AppsV1().StatefulSets("metacontroller").Patch(e.Context(), originalName, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		e.Fatal(err)
	}
}

// expectControllers waits until it follows exactly the controllers.
func (s *standIn) expectControllers(want []string) {
	s.Helper()
	s.eventually(func(context.Context) error {
		var names []string
		for _, informer := range s.controllers {
			for _, of := range informer.GetStore().List() {
				names = append(names, of.(*unstructured.Unstructured).GetName())
			}
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			return fmt.Errorf("it follows the controllers %v, and not %v", names, want)
		}
		return nil
	})
}

// writeRevision writes a revision as Metacontroller does when it moves a child, and waits until it sees that.
func (s *standIn) writeRevision(parent string) {
	s.Helper()
	of, err := s.in(s.things).Get(s.Context(), parent, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	list, err := s.in(controllerRevisions).List(s.Context(), metav1.ListOptions{LabelSelector: "controller-uid=" + string(of.GetUID())})
	if err != nil || len(list.Items) == 0 {
		s.Fatalf("the revisions of %s are %v (%v)", parent, list, err)
	}
	revision := &list.Items[0]
	children := revision.Object["children"].([]any)
	names := children[0].(map[string]any)["names"].([]any)
	children[0].(map[string]any)["names"] = append(names, fmt.Sprintf("more-%d", len(names)))
	written, err := s.in(controllerRevisions).Update(s.Context(), revision, metav1.UpdateOptions{FieldManager: originalManager})
	if err != nil {
		s.Fatal(err)
	}
	s.eventually(func(context.Context) error {
		is, exists, err := s.revisions[0].GetStore().GetByKey(written.GetNamespace() + "/" + written.GetName())
		if err != nil || !exists || is.(*unstructured.Unstructured).GetResourceVersion() != written.GetResourceVersion() {
			return errors.Join(errors.New("it does not see what it wrote"), err)
		}
		return nil
	})
}

// Metacontroller goes on as a client of the server, with the controllers that the server does not select.
func TestControllersAreTakenOverOneAtATime(t *testing.T) {
	const parents = 2
	w := newWorld(t, "--target-label-selector=engine=new")
	e, hooks := newEstate(w, shapesOf(8))
	e.leave(parents)
	before, from := e.census(), env.AuditEnd(t)
	w.installOriginal(1)
	left := map[string]bool{}
	for _, of := range e.shapes {
		left[of.name] = true
	}
	w.migrate("switch", "--stop-original")
	original := e.startOriginal("engine!=new")
	original.expectControllers(slices.Sorted(maps.Keys(left)))
	if said := w.migrate("run"); !strings.Contains(said, "Metacontroller goes on as statefulset/metacontroller/metacontroller") {
		t.Error("it does not say that Metacontroller goes on")
	}
	moved := e.shapes[5:7] // one that rolls and finalizes, and a decorator
	if inFull() {
		moved = e.shapes[3:7]
	}
	for i, of := range moved {
		original.stopOriginal()
		called := len(hooks.Calls())
		kind := "compositecontroller"
		if of.decorates {
			kind = "decoratorcontroller"
		}
		env.Kubectl(t, "label", kind, of.name, "engine=new")
		e.waitUntilSynced(hooks, called, parents)
		delete(left, of.name)
		original = e.startOriginal("engine!=new")
		original.expectControllers(slices.Sorted(maps.Keys(left)))
		if i == 0 {
			original.writeRevision(e.shapes[4].parentName(1))
		}
	}
	about, err := askedAbout(hooks, 0)
	if err != nil || len(about) != len(moved)*parents {
		t.Errorf("the hooks were called about %v (%v), and not of the controllers that were moved alone", about, err)
	}
	w.migrate("finish")
	e.expectSurvived(before, "finish")
	e.expectNoChildWrites(from)
	original.writeRevision(e.shapes[4].parentName(1))
}

// A controller that both would run is told before the server runs any.
func TestControllersThatWouldRunTwice(t *testing.T) {
	w := newWorld(t)
	env.Apply(t, fmt.Sprintf(plain, "a", "http://127.0.0.1:1"))
	w.installOriginal(1)
	w.migrate("switch", "--stop-original")
	e := &estate{world: w}
	e.startOriginal("engine!=new").expectControllers([]string{"a"})
	said, err := w.tryToMigrate("run")
	if err == nil || !strings.Contains(said, "would run 1 controller beside the server") || !strings.Contains(said, "CompositeController a") {
		t.Errorf("migrate run: %v", err)
	}
	w.expectPhase("Held")
	if said := w.migrate("run", "--stop-original"); !strings.Contains(said, "scaled statefulset/metacontroller/metacontroller from 1 to 0") {
		t.Error("it does not stop Metacontroller")
	}
}
