// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// hostOf serves watches of one parent, webs/a, and of no children, and takes events. It refuses to create pods, as if
// there were one of that name, and has none when it is asked for it.
func hostOf(t *testing.T) (config *rest.Config, events chan corev1.Event) {
	t.Helper()
	events = make(chan corev1.Event, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
			var event corev1.Event
			if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
				t.Errorf("an event cannot be read: %v", err)
			}
			events <- event
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(event)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods"):
			w.WriteHeader(http.StatusConflict)
		case r.URL.Query().Get("watch") == "true":
			kind, apiVersion := "Pod", "v1"
			if strings.HasSuffix(r.URL.Path, "/webs") {
				kind, apiVersion = "Web", "ctl.example/v1"
				_, _ = io.WriteString(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web",
					"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"}}}`)
			}
			_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,
				"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`, kind, apiVersion)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, events
}

// A bug that shows itself by a panic harms one parent, and is told like any failure.
func TestASyncThatPanicsFails(t *testing.T) {
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := controllerAt(t, config, Dependencies{Events: events}, specOf(at("http://hooks.example")))
	c.parentChanged(nil, c.observer.Get(web("a")))
	c.object.Store(nil) // the bug

	if verdict := c.sync(t.Context(), web("a")); verdict != syncqueue.Backoff(0) {
		t.Errorf("the verdict is %v, want a failure", verdict)
	}
	event := <-sent
	if event.Reason != "SyncError" || event.InvolvedObject.Name != "a" || !strings.Contains(event.Message, "panic: ") {
		t.Errorf("the event is %s about %s: %s", event.Reason, event.InvolvedObject.Name, event.Message)
	}
	if health := c.Health(); health.Total != 1 || health.Failing != 1 || !strings.Contains(health.LastError.Message, "panic: ") {
		t.Errorf("the health is %+v", health)
	}
}
