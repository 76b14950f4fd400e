// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// newEstate returns an estate with the shapes, and hooks that want what is there.
func newEstate(w *world, shapes []shape) (*estate, *hook.Server) {
	w.Helper()
	server := hook.Serve(w, nil)
	e := &estate{
		world: w, namespace: env.Namespace(w), shapes: shapes, hooks: strings.TrimSuffix(server.URL("/"), "/"),
		things: env.Install(w.T, harness.CRD{Kind: "Thing"}), parts: env.Install(w.T, harness.CRD{Kind: "Part"}),
	}
	server.Handle(e.answer)
	return e, server
}

// answer is what the hooks answer: for each parent the children that it has when it is synced.
func (e *estate) answer(_ context.Context, call hook.Call) hook.Answer {
	var asked struct {
		Parent unstructured.Unstructured `json:"parent"`
		Object unstructured.Unstructured `json:"object"`
	}
	if err := call.Decode(&asked); err != nil {
		return hook.Text(400, err.Error())
	}
	index := slices.IndexFunc(e.shapes, func(of shape) bool { return strings.HasSuffix(call.Path, "/"+of.name) })
	if index < 0 {
		return hook.Text(404, "nobody asks for "+call.Path)
	}
	of := e.shapes[index]
	about, field := asked.Parent, "children"
	if of.decorates {
		about, field = asked.Object, "attachments"
	}
	value, _, _ := unstructured.NestedString(about.Object, "spec", "value")
	suffixes := []string{""}
	if of.rolls {
		suffixes = []string{"-a", "-b"}
	}
	var children []any
	for _, suffix := range suffixes {
		child := e.desired(of, &about, value, suffix)
		delete(child["metadata"].(harness.Object), "namespace")
		delete(child["metadata"].(harness.Object), "labels")
		delete(child["metadata"].(harness.Object), "annotations")
		children = append(children, child)
	}
	return hook.JSON(harness.Object{field: children, "status": harness.Object{"value": value}})
}

// shapesOf returns controllers of all sorts, as many as are wanted.
func shapesOf(count int) (shapes []shape) {
	sorts := []shape{
		{name: "ondelete", method: ""}, {name: "inplace", method: "InPlace"}, {name: "recreate", method: "Recreate"},
		{name: "finalizing", method: "InPlace", finalizes: true}, {name: "rolling", method: "RollingInPlace", rolls: true},
		{name: "rollingrecreate", method: "RollingRecreate", rolls: true, finalizes: true},
		{name: "decorator", method: "InPlace", decorates: true}, {name: "decoratorfinalizing", method: "Recreate", decorates: true, finalizes: true},
	}
	for i := range count {
		of := sorts[i%len(sorts)]
		of.name = fmt.Sprintf("%s-%d", of.name, i)
		shapes = append(shapes, of)
	}
	return shapes
}

// composites returns the names of the CompositeControllers.
func (e *estate) composites() (names []string) {
	for _, of := range e.shapes {
		if !of.decorates {
			names = append(names, of.name)
		}
	}
	return names
}

// expectNoChildWrites fails the test if the server has written a child.
func (e *estate) expectNoChildWrites(from hostcluster.Position) {
	e.Helper()
	for _, resource := range []struct{ group, resource string }{{"", "configmaps"}, {e.parts.Group, e.parts.Resource}} {
		env.ExpectNoRequests(e, from, hostcluster.Request{User: harness.ServerUser, Verbs: hostcluster.Writes(), Group: resource.group, Resource: resource.resource})
	}
}

// expectNothingToWrite fails the test unless a preview of all parents shows no write to a child.
func (e *estate) expectNothingToWrite(said string, parents int) {
	e.Helper()
	if want := fmt.Sprintf("previewed %d parents: 0 writes to children of 0 parents", parents); !strings.Contains(said, want) || strings.Contains(said, "would fail") {
		e.Errorf("the preview does not say %q:\n%s", want, said)
	}
}

// waitUntilAllAreSynced waits until the hooks were called about all parents since a number of calls.
func (e *estate) waitUntilAllAreSynced(server *hook.Server, since, parents int) {
	e.Helper()
	e.waitUntilSynced(server, since, len(e.shapes)*parents)
}

// waitUntilSynced waits until the hooks were called about so many parents since a number of calls.
func (e *estate) waitUntilSynced(server *hook.Server, since, parents int) {
	e.Helper()
	e.eventually(func(context.Context) error {
		about, err := askedAbout(server, since)
		if err == nil && len(about) != parents {
			err = fmt.Errorf("the hooks were called about %d of %d parents", len(about), parents)
		}
		return err
	})
}

// askedAbout returns the names of the parents that the hooks were called about since a number of calls.
func askedAbout(server *hook.Server, since int) (map[string]bool, error) {
	about := map[string]bool{}
	for _, call := range server.Calls()[since:] {
		var asked struct {
			Parent unstructured.Unstructured `json:"parent"`
			Object unstructured.Unstructured `json:"object"`
		}
		if err := call.Decode(&asked); err != nil {
			return nil, err
		}
		about[asked.Parent.GetName()+asked.Object.GetName()] = true
	}
	return about, nil
}

// waitUntilCollected creates an object of a controller that there is not, and waits until the garbage collector has removed it: that one
// works, and sees the API.
func (e *estate) waitUntilCollected() {
	e.Helper()
	name := harness.Name("garbage")
	garbage := &unstructured.Unstructured{Object: harness.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": harness.Object{"name": name}}}
	garbage.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController", Name: "none", UID: "00000000-0000-0000-0000-000000000001"}})
	if _, err := e.in(configMaps).Create(e.Context(), garbage, metav1.CreateOptions{}); err != nil {
		e.Fatal(err)
	}
	e.eventually(func(ctx context.Context) error {
		_, err := e.in(configMaps).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the garbage collector does not collect it: %w", err)
	})
}

// backUnderLoad goes back while clients write. Objects that they write on both sides within the seconds around the switch are listed, and
// what they wrote last counts. Nothing else may go wrong.
func (w *world) backUnderLoad() {
	w.Helper()
	said, err := w.tryToMigrate("back")
	if err == nil {
		return
	}
	_, conflicts, found := strings.Cut(said, "in conflict, left as it is in the definitions:")
	if !found {
		w.Fatalf("migrate back: %v", err)
	}
	for line := range strings.Lines(strings.TrimSpace(conflicts)) {
		if !strings.Contains(line, "it was changed here and in its definition at the same time; the definition counts") {
			w.Errorf("migrate back says %q", line)
		}
	}
}

// There and back with many objects, under load.
func TestThereAndBackUnderLoad(t *testing.T) {
	const parents = 10
	controllers := 40
	if inFull() {
		controllers = 200
	}
	w := newWorld(t)
	e, hooks := newEstate(w, shapesOf(controllers))
	e.leave(parents)
	before := e.census()
	from := env.AuditEnd(t)
	l := newLoad(w, e.composites())
	survived := func(after string) {
		t.Helper()
		l.check()
		e.expectSurvived(before, after)
	}
	w.migrate("check")
	w.migrate("copy")
	survived("copy")
	w.migrate("switch")
	survived("switch")
	if called := len(hooks.Calls()); called > 0 {
		t.Errorf("the hooks were called %d times before they were to be asked", called)
	}
	e.expectNothingToWrite(w.migrate("verify"), controllers*parents)
	called := len(hooks.Calls())
	w.migrate("run")
	e.waitUntilAllAreSynced(hooks, called, parents)
	survived("run")
	w.backUnderLoad()
	survived("back")
	w.migrate("switch")
	w.migrate("run")
	w.migrate("finish")
	survived("finish")
	l.end() // nothing that was written last is lost
	e.expectNoChildWrites(from)
}
