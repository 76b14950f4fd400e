// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// expectNoChildWrites fails the test if the server has written a child.
func (e *estate) expectNoChildWrites(from hostcluster.Position) {
	e.Helper()
	for _, resource := range []struct{ group, resource string }{{"", "configmaps"}, {e.parts.Group, e.parts.Resource}} {
		env.ExpectNoRequests(e, from, hostcluster.Request{User: harness.ServerUser, Verbs: hostcluster.Writes(), Group: resource.group, Resource: resource.resource})
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
