// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// fakeHost serves watches of what a test puts there, by the plural of the type.
type fakeHost struct {
	mu      sync.Mutex
	objects map[string]map[types.NamespacedName]string
	streams map[string][]chan string
	version int
	// silent are types whose lists never end, refused are types that may not be listed.
	silent, refused sets.Set[string]
}

func (h *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	h.mu.Lock()
	if h.refused.Has(resource) {
		h.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"%s are none of your business"}`, resource)
		return
	}
	stream := make(chan string, 1000+len(h.objects[resource]))
	for _, raw := range h.objects[resource] {
		stream <- fmt.Sprintf(`{"type":"ADDED","object":%s}`, raw)
	}
	if !h.silent.Has(resource) {
		stream <- h.listed()
	}
	h.streams[resource] = append(h.streams[resource], stream)
	h.mu.Unlock()
	defer h.closed(resource, stream)

	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w).Flush
	_ = flush()
	for {
		select {
		case event := <-stream:
			_, _ = io.WriteString(w, event+"\n")
			_ = flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (h *fakeHost) closed(resource string, stream chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams[resource] = slices.DeleteFunc(h.streams[resource], func(other chan string) bool { return other == stream })
}

func (h *fakeHost) listed() string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`, h.version+1)
}

// answer ends the lists of a type that was silent.
func (h *fakeHost) answer(resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent.Delete(resource)
	for _, stream := range h.streams[resource] {
		stream <- h.listed()
	}
}

// watched returns the types that are watched.
func (h *fakeHost) watched() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var watched []string
	for resource, streams := range h.streams {
		for range streams {
			watched = append(watched, resource)
		}
	}
	slices.Sort(watched)
	return strings.Join(watched, " ")
}

// put makes an object, given as metadata in YAML, be as it is said to be.
func (h *fakeHost) put(t testing.TB, of object.Type, metadata string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	o := parsed(t, fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {resourceVersion: "%d", %s}}`, of.Kind, h.version, metadata))
	kind := "ADDED"
	if _, exists := h.objects[of.Resource][o.Key()]; exists {
		kind = "MODIFIED"
	}
	if h.objects[of.Resource] == nil {
		h.objects[of.Resource] = map[types.NamespacedName]string{}
	}
	h.objects[of.Resource][o.Key()] = string(o.JSON())
	h.send(of, kind, o)
}

func (h *fakeHost) remove(t testing.TB, of object.Type, metadata string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	o := parsed(t, fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {resourceVersion: "%d", %s}}`, of.Kind, h.version, metadata))
	delete(h.objects[of.Resource], o.Key())
	h.send(of, "DELETED", o)
}

func (h *fakeHost) send(of object.Type, kind string, o *object.Object) {
	for _, stream := range h.streams[of.Resource] {
		stream <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, o.JSON())
	}
}

// observing is an observer with a host and a hook that answers what a test says.
type observing struct {
	testing.TB
	*Observer
	host      *fakeHost
	informers *cache.Informers
	answers   map[object.Key]*Answer

	mu       sync.Mutex
	rules    []pipeline.RelatedRule
	warnings []pipeline.Warning
	err      error
	asked    int
	synced   map[object.Key]int
}

func observe(t testing.TB) *observing {
	t.Helper()
	o := &observing{
		TB: t,
		host: &fakeHost{
			objects: map[string]map[types.NamespacedName]string{}, streams: map[string][]chan string{},
			silent: sets.New[string](), refused: sets.New[string](),
		},
		answers: map[object.Key]*Answer{},
		synced:  map[object.Key]int{},
	}
	server := httptest.NewServer(o.host)
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	o.informers = cache.NewInformers(ctx, client, 0)
	o.Observer = New(Config{Informers: o.informers, Resolve: resolve, Ask: o.ask, Changed: o.changed})
	t.Cleanup(func() { o.Close() })
	return o
}

func (o *observing) ask(context.Context, *pipeline.Snapshot) ([]pipeline.RelatedRule, []pipeline.Warning, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	return o.rules, o.warnings, o.err
}

// keyOf is the key of a parent.
func keyOf(namespace, name string) object.Key {
	return object.Key{
		GroupKind: schema.GroupKind{Group: "ctl.example", Kind: "Web"}, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name},
	}
}

func (o *observing) changed(parents ...object.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, parent := range parents {
		o.synced[parent]++
	}
}

// calls returns how often the hook was asked.
func (o *observing) calls() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

// triggered returns the parents that were enqueued since the last call.
func (o *observing) triggered() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for parent := range o.synced {
		names = append(names, parent.Name)
	}
	clear(o.synced)
	slices.Sort(names)
	return strings.Join(names, " ")
}

// says makes the hook answer rules from now on.
func (o *observing) says(rules ...pipeline.RelatedRule) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules = rules
}

// observe observes a parent of namespace own once, as a sync does.
func (o *observing) observe(name string, generation int) ([]pipeline.Related, error) {
	snapshot := &pipeline.Snapshot{Parent: parsed(o, fmt.Sprintf(
		`{apiVersion: ctl.example/v1, kind: Web, metadata: {name: %s, namespace: own, uid: u-%s, generation: %d}}`, name, name, generation))}
	key := object.KeyOf(snapshot.Parent)
	if o.answers[key] == nil {
		o.answers[key] = &Answer{}
	}
	err := o.Observe(o.Context(), o.answers[key], snapshot)
	return snapshot.Related, err
}

// shows waits until the observation of a parent can be had and compares it.
func (o *observing) shows(name string, generation int, want string) {
	o.Helper()
	var got string
	o.eventually("a parent is shown "+want, func() bool {
		groups, err := o.observe(name, generation)
		if err != nil {
			got = err.Error()
			return false
		}
		got = text(groups)
		return got == want
	}, &got)
	for _, source := range o.sources {
		source.waiting.Wait() // what the first list triggers has been triggered
	}
}

func text(groups []pipeline.Related) string {
	var texts []string
	for _, group := range groups {
		names := []string{}
		for _, o := range group.Objects {
			names = append(names, strings.TrimPrefix(o.Key().String(), "/"))
		}
		texts = append(texts, group.Type.Kind+"["+strings.Join(names, " ")+"]")
	}
	return strings.Join(texts, " ")
}

// eventually waits until something holds.
func (o *observing) eventually(what string, holds func() bool, is *string) {
	o.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			o.Fatalf("it never came that %s: %s", what, *is)
		}
	}
}

func (o *observing) watchesOnly(want string) {
	o.Helper()
	var got string
	o.eventually("what is watched is "+want, func() bool { got = o.host.watched(); return got == want }, &got)
}
