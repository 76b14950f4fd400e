// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// beside is another decorator with a hook of its own, on the same targets.
func (f *fixture) beside(handler hook.Handler, changes ...change) *fixture {
	f.Helper()
	other := *f
	other.hook = hook.Serve(f, handler)
	other.controller = other.create(other.spec(changes...))
	return &other
}

// parentRequest is what a composite's sync or finalize hook is sent.
type parentRequest struct {
	Parent     unstructured.Unstructured    `json:"parent"`
	Children   map[string]map[string]object `json:"children"`
	Finalizing bool                         `json:"finalizing"`
}

// compositeChange is a change of a composite's spec before it is created.
type compositeChange = func(*v1alpha1.CompositeControllerSpec)

// composite runs a CompositeController with a generated selector, whose children are
// ConfigMaps that are updated in place, and returns its name and its hook.
func (f *fixture) composite(parents schema.GroupVersionResource, answer func(parentRequest) object, changes ...compositeChange) (string, *hook.Server) {
	f.Helper()
	server := hook.Serve(f, hook.Answering(f, answer))
	spec := v1alpha1.CompositeControllerSpec{
		ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{
			APIVersion: parents.GroupVersion().String(), Resource: parents.Resource,
		}},
		ChildResources: []v1alpha1.CompositeControllerChildResourceRule{{
			ResourceRule:   v1alpha1.ResourceRule{APIVersion: "v1", Resource: "configmaps"},
			UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: v1alpha1.ChildUpdateInPlace},
		}},
		GenerateSelector: ptr.To(true),
		Hooks: &v1alpha1.CompositeControllerHooks{
			Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(server.URL("/sync"))}},
		},
	}
	for _, change := range changes {
		change(&spec)
	}
	created := harness.CreateController(f, env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: harness.Name("test")}, Spec: spec,
	})
	return created.Name, server
}

// settle waits until the hooks have twice been sent what mark has put a text into: their
// second calls come when the first syncs are over.
func (f *fixture) settle(mark func(text string), hooks ...*hook.Server) {
	f.Helper()
	for range 2 {
		text := harness.Name("mark")
		mark(text)
		for i, server := range hooks {
			env.Eventually(f, func(context.Context) error {
				for _, call := range server.Calls() {
					if bytes.Contains(call.Body, []byte(text)) {
						return nil
					}
				}
				return fmt.Errorf("hook %d should have been sent %s", i, text)
			})
		}
	}
}

// markTarget marks a target for settle.
func (f *fixture) markTarget(name string) func(text string) {
	return func(text string) { f.patch(name, object{"metadata": object{"annotations": object{"mark": text}}}) }
}

// expectRest checks that syncs which find nothing new write nothing, of any type, in the
// namespace. Events are sent later and do not count.
func (f *fixture) expectRest(mark func(text string), hooks ...*hook.Server) {
	f.Helper()
	f.settle(mark, hooks...)
	from := f.position()
	f.settle(mark, hooks...)
	f.expectNoWrites(from)
}

func (f *fixture) position() hostcluster.Position {
	f.Helper()
	position, err := env.Host.Audit().Position()
	if err != nil {
		f.Fatal(err)
	}
	return position
}

func (f *fixture) expectNoWrites(from hostcluster.Position) {
	f.Helper()
	for _, write := range f.writes(from) {
		f.Errorf("nothing should be written at rest, but there was %s", write)
	}
}

// writes are the server's writes in the namespace but for events, as text.
func (f *fixture) writes(from hostcluster.Position) []string {
	f.Helper()
	events, err := env.Host.Audit().Find(from, hostcluster.Request{User: harness.ServerUser, Verbs: hostcluster.Writes(), Namespace: f.namespace})
	if err != nil {
		f.Fatal(err)
	}
	var found []string
	for _, event := range events {
		if event.ObjectRef.Resource != "events" {
			found = append(found, fmt.Sprintf("%s %s: %d", event.Verb, event.RequestURI, event.ResponseStatus.Code))
		}
	}
	return found
}

// labelled is a desired ConfigMap with labels.
func labelled(name string, labels object) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name, "labels": labels}, "data": object{"of": name}}
}

func exists(*corev1.ConfigMap) error { return nil }
