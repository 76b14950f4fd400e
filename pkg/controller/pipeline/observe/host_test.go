// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

var (
	webs       = object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web", Namespaced: true}
	fleets     = object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "fleets"}, Kind: "Fleet"}
	configMaps = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	pods       = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}
)

// streamer serves watches: first the objects there are, then what a test sends.
type streamer struct {
	objects map[string][]string // JSON, by path

	mu      sync.Mutex
	streams map[string]chan string
}

// eventsOf is the channel for further events of the resource at a path.
func (s *streamer) eventsOf(path string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[path] == nil {
		s.streams[path] = make(chan string, 10)
	}
	return s.streams[path]
}

func (s *streamer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "true" {
		http.Error(w, "only watches are served", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for _, raw := range s.objects[r.URL.Path] {
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", raw)
	}
	_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
	flush := http.NewResponseController(w).Flush
	_ = flush()
	for {
		select {
		case event := <-s.eventsOf(r.URL.Path):
			_, _ = io.WriteString(w, event+"\n")
			_ = flush()
		case <-r.Context().Done():
			return
		}
	}
}

// observing returns an observer of parents and their ConfigMaps and Pods. Its caches show the
// objects, which are in YAML.
func observing(t testing.TB, parents object.Type, claims Claims, objects ...string) (*Observer, *streamer) {
	t.Helper()
	served := &streamer{objects: map[string][]string{}, streams: map[string]chan string{}}
	for i, text := range objects {
		o := parsed(t, text)
		raw, err := object.WithMember(o.Lookup("metadata"), "resourceVersion", fmt.Appendf(nil, "%q", fmt.Sprint(i+1)))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = object.WithMember(o.JSON(), "metadata", raw); err != nil {
			t.Fatal(err)
		}
		served.objects[pathOf(o)] = append(served.objects[pathOf(o)], string(raw))
	}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	informers := cache.NewInformers(context.WithoutCancel(t.Context()), client, 0)
	observer := &Observer{Claims: claims}
	for _, of := range []object.Type{parents, configMaps, pods} {
		view := informers.Acquire(of)
		t.Cleanup(func() { informers.Release(view) })
		if err := view.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if of == parents {
			observer.Targets = []*Target{{View: view, Rules: []Rule{{Labels: labels.Everything()}}}}
		} else {
			observer.Children = append(observer.Children, view)
		}
	}
	return observer, served
}

func pathOf(o *object.Object) string {
	prefix := "/apis/"
	if !strings.Contains(o.APIVersion, "/") {
		prefix = "/api/"
	}
	return prefix + o.APIVersion + "/" + strings.ToLower(o.Kind) + "s"
}

// optional is an object, nil for no text.
func optional(t *testing.T, text string) *object.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	return parsed(t, text)
}

// send sends a watch event about an object in YAML.
func (s *streamer) send(t *testing.T, kind, text string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.eventsOf(pathOf(parsed(t, text))) <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, raw)
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never came that %s", what)
		}
	}
}
