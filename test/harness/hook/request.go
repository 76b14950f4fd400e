// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is JSON as hooks read and write it.
type Object = map[string]any

// Request is what a hook is sent.
type Request interface {
	// About returns the name of the parent or target.
	About() string
}

// CompositeRequest is what the hooks of a CompositeController are sent.
type CompositeRequest struct {
	Controller Object                       `json:"controller"`
	Parent     unstructured.Unstructured    `json:"parent"`
	Children   map[string]map[string]Object `json:"children"`
	Related    map[string]map[string]Object `json:"related"`
	Finalizing bool                         `json:"finalizing"`
	// Trigger is that of the header.
	Trigger string `json:"-"`
}

// About implements Request.
func (r CompositeRequest) About() string { return r.Parent.GetName() }

func (r *CompositeRequest) setTrigger(trigger string) { r.Trigger = trigger }

// DecoratorRequest is what the hooks of a DecoratorController are sent.
type DecoratorRequest struct {
	Controller  Object                       `json:"controller"`
	Object      unstructured.Unstructured    `json:"object"`
	Attachments map[string]map[string]Object `json:"attachments"`
	Related     map[string]map[string]Object `json:"related"`
	// Parent is the target in requests to a customize hook.
	Parent     unstructured.Unstructured `json:"parent"`
	Finalizing bool                      `json:"finalizing"`
	// Trigger is that of the header.
	Trigger string `json:"-"`
}

// About implements Request.
func (r DecoratorRequest) About() string { return cmp.Or(r.Object.GetName(), r.Parent.GetName()) }

func (r *DecoratorRequest) setTrigger(trigger string) { r.Trigger = trigger }

// Requests returns the requests about a parent that were sent to a path of a server, oldest first.
func Requests[R Request](t testing.TB, server *Server, path, about string) []R {
	t.Helper()
	var found []R
	for _, call := range server.Calls() {
		if call.Path != path {
			continue
		}
		var request R
		if err := call.Decode(&request); err != nil {
			t.Fatal(err)
		}
		if request.About() == about {
			found = append(found, request)
		}
	}
	return found
}

// ConfigMap returns a ConfigMap as hooks answer it.
func ConfigMap(name string, data Object) Object {
	return Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": Object{"name": name}, "data": data}
}
