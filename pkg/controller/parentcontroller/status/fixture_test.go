// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

var pods = object.Type{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, StatusSubresource: true,
}

// web is the key of a parent.
func web(name string) object.Key {
	return object.Key{GroupKind: schema.GroupKind{Group: "ctl.example", Kind: "Web"}, NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

// snapshotOf begins the snapshot of a parent.
func snapshotOf(name string) *pipeline.Snapshot {
	return &pipeline.Snapshot{Parent: &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}}
}

func configMap(t *testing.T, name, metadata string) *object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default",%s}}`, name, metadata))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// withUpdated is a parent whose status says this of its rollout.
func withUpdated(t *testing.T, status string) *object.Object {
	t.Helper()
	parent, err := object.Parse([]byte(`{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"a","namespace":"default","uid":"u"},
		"status":{"conditions":[{"type":"Other","status":"True","lastTransitionTime":"yesterday"},{"type":"Updated","status":"` + status + `"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// eventsOf returns a writer of at most ten events about an object, and the events that it has written.
func eventsOf(t *testing.T) (*report.Events, chan corev1.Event) {
	t.Helper()
	sent := make(chan corev1.Event, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r) // then the event is created once more
			return
		}
		var event corev1.Event
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			t.Errorf("an event cannot be read: %v", err)
		}
		sent <- event
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(event)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1e-3, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	return events, sent
}
