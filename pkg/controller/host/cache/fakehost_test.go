// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

var things = object.Type{
	GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
	Kind:                 "Thing",
	Namespaced:           true,
}

// fakeHost serves watches of things. They send the events that the test gives it.
type fakeHost struct {
	server *httptest.Server
	events chan string

	mu      sync.Mutex
	open    int
	opened  int
	queries []string
	paths   []string
	// lists are the queries of the lists.
	lists []url.Values
	// refuse is how many watches it refuses before it serves one, with this status.
	refuse, status int
	// breaks has watches end as soon as they have begun, after they have sent an event.
	breaks bool
	last   string
	// hangs has lists never end.
	hangs bool
	// items are the JSON objects of a list. If it is set, the host does not support streaming lists.
	items string
}

func newFakeHost(t testing.TB) (*fakeHost, *host.Client) {
	t.Helper()
	fake := &fakeHost{events: make(chan string, 100)}
	fake.server = httptest.NewServer(fake)
	t.Cleanup(fake.server.Close)
	client, err := host.NewClient(&rest.Config{Host: fake.server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return fake, client
}

func (h *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case !strings.HasSuffix(r.URL.Path, "/things") || query.Get("watch") != "true" && h.items == "":
		http.NotFound(w, r)
		return
	case query.Get("watch") != "true":
		h.mu.Lock()
		h.lists = append(h.lists, query)
		hangs := h.hangs
		h.mu.Unlock()
		if hangs {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, h.items)
		return
	case query.Get("sendInitialEvents") == "true" && h.items != "":
		refuseStreamingList(w)
		return
	}
	h.mu.Lock()
	if h.refuse > 0 {
		h.refuse--
		h.mu.Unlock()
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(h.status)
		return
	}
	h.open++
	h.opened++
	h.queries = append(h.queries, r.URL.RawQuery)
	h.paths = append(h.paths, r.URL.Path)
	breaks, last := h.breaks, h.last
	h.mu.Unlock()
	defer func() { h.mu.Lock(); h.open--; h.mu.Unlock() }()

	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	if breaks {
		fmt.Fprintln(w, last)
		return
	}
	for {
		select {
		case event := <-h.events:
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// refuseStreamingList answers as a host that does not support streaming lists.
func refuseStreamingList(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
}

// watches returns how many watches are open, and how many were opened in all.
func (h *fakeHost) watches() (open, opened int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open, h.opened
}

// setBreaking has watches end as soon as they have begun, after they have sent an event.
func (h *fakeHost) setBreaking(breaks bool, last string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breaks, h.last = breaks, last
}

// send sends an event with an object.
func (h *fakeHost) send(kind, object string) {
	h.events <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object)
}

// sendListed ends the initial list.
func (h *fakeHost) sendListed(resourceVersion string) {
	h.send("BOOKMARK", fmt.Sprintf(
		`{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}`, resourceVersion))
}

// thing returns a thing. Owner is the UID of its controller; empty if it has none.
func thing(name, resourceVersion, owner string) string {
	owners := "[]"
	if owner != "" {
		owners = fmt.Sprintf(`[{"apiVersion":"example.com/v1","kind":"Owner","name":"o","uid":%q,"controller":true}]`, owner)
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":%q,"namespace":"ns","uid":"uid-%s","resourceVersion":%q,"ownerReferences":%s,"managedFields":[{"manager":"m"}]}}`,
		name, name, resourceVersion, owners)
}
