// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

// selectingHost has things with labels and serves the ones that a request selects. It sends the
// removal of a thing that is no longer selected as a kube-apiserver does: with its former labels.
type selectingHost struct {
	mu      sync.Mutex
	version int
	things  map[string]labelled
	history []happened
	// more is closed and replaced when the history grows.
	more chan struct{}

	// streams has the selectors of all watches, including ended ones. open counts the watches that
	// have not ended.
	streams []string
	open    int
	// most is how many were open at once.
	most int
	// listed is how many objects were sent in lists.
	listed int
	// refuses reports whether requests with a selector are refused.
	refuses func(selector string) bool
	// ended is closed and replaced to end all watches.
	ended chan struct{}
	// gates hold up watches, by their selectors: a watch receives from its gate before its list
	// ends, and again before it sends changes.
	gates map[string]chan struct{}
	// lists is true if the host does not support streaming lists.
	lists bool
}

type labelled struct {
	version int
	labels  labels.Set
}

// happened is a change of a thing: before is nil if it is new, after is nil if it is gone.
type happened struct {
	version       int
	name          string
	before, after *labelled
}

func newSelectingHost(t *testing.T) (*selectingHost, *host.Client) {
	t.Helper()
	fake := &selectingHost{
		version: 100, things: map[string]labelled{}, more: make(chan struct{}), ended: make(chan struct{}),
		gates: map[string]chan struct{}{}, refuses: func(string) bool { return false },
	}
	server := httptest.NewServer(fake)
	t.Cleanup(func() {
		fake.endWatches()
		server.CloseClientConnections()
		server.Close()
	})
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return fake, client
}

// set gives a thing labels, written as "a=1,b=2", or deletes it if the text is empty. It returns
// the version of the change.
func (h *selectingHost) set(name, text string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	change := happened{version: h.version, name: name}
	if before, there := h.things[name]; there {
		change.before = &before
	}
	if text == "" {
		delete(h.things, name)
	} else {
		set, err := labels.ConvertSelectorToLabelsMap(text)
		if err != nil {
			panic(err)
		}
		change.after = &labelled{version: h.version, labels: set}
		h.things[name] = *change.after
	}
	h.history = append(h.history, change)
	close(h.more)
	h.more = make(chan struct{})
	return h.version
}

// gate holds up the watches with a selector before their lists end, and again before they send
// changes. Each message to the channel lets a watch go on once.
func (h *selectingHost) gate(selector string) chan<- struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gates[selector] = make(chan struct{})
	return h.gates[selector]
}

// pass waits at the gate of a watch, if it has one. It is called with the lock held and gives it up
// while it waits.
func (h *selectingHost) pass(r *http.Request) {
	gate := h.gates[r.URL.Query().Get("labelSelector")]
	if gate == nil {
		return
	}
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case <-gate:
	case <-r.Context().Done():
	}
}

// endWatches ends all watches, as a host does from time to time.
func (h *selectingHost) endWatches() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.ended)
	h.ended = make(chan struct{})
}

func (h *selectingHost) watched() (streams []string, open int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.streams), h.open
}

func (h *selectingHost) refuse(refuses func(selector string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuses = refuses
}

func (h *selectingHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	streams := query.Get("sendInitialEvents") == "true"
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case h.refuses(query.Get("labelSelector")):
		w.WriteHeader(http.StatusForbidden)
		return
	case query.Get("watch") != "true":
		h.list(w, selector)
		return
	case streams && h.lists:
		refuseStreamingList(w)
		return
	}
	h.streams = append(h.streams, query.Get("labelSelector"))
	h.open++
	h.most = max(h.most, h.open)
	defer func() { h.open-- }()
	ended := h.ended
	from, _ := strconv.Atoi(query.Get("resourceVersion"))
	if streams {
		from = h.version
		for name, thing := range h.things {
			if selector.Matches(thing.labels) {
				h.listed++
				send(w, "ADDED", name, thing)
			}
		}
		h.pass(r)
		_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", from)
	}
	w.(http.Flusher).Flush()
	h.pass(r)
	for {
		for _, change := range h.history {
			if change.version > from {
				from = change.version
				sendChange(w, selector, change)
			}
		}
		w.(http.Flusher).Flush()
		more := h.more
		h.mu.Unlock()
		select {
		case <-more:
			h.mu.Lock()
		case <-ended:
			h.mu.Lock()
			return
		case <-r.Context().Done():
			h.mu.Lock()
			return
		}
	}
}

// list serves a request for a list.
func (h *selectingHost) list(w http.ResponseWriter, selector labels.Selector) {
	items := []json.RawMessage{}
	for name, thing := range h.things {
		if selector.Matches(thing.labels) {
			h.listed++
			items = append(items, thing.json(name))
		}
	}
	body, _ := json.Marshal(map[string]any{
		"kind": "ThingList", "apiVersion": "example.com/v1", "items": items,
		"metadata": map[string]string{"resourceVersion": fmt.Sprint(h.version)},
	})
	_, _ = w.Write(body)
}

func sendChange(w http.ResponseWriter, selector labels.Selector, change happened) {
	was := change.before != nil && selector.Matches(change.before.labels)
	is := change.after != nil && selector.Matches(change.after.labels)
	switch {
	case was && is:
		send(w, "MODIFIED", change.name, *change.after)
	case is:
		send(w, "ADDED", change.name, *change.after)
	case was:
		send(w, "DELETED", change.name, labelled{version: change.version, labels: change.before.labels})
	}
}

func send(w http.ResponseWriter, kind, name string, thing labelled) {
	_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", kind, thing.json(name))
}

func (l labelled) json(name string) []byte {
	body, _ := json.Marshal(map[string]any{
		"kind": "Thing", "apiVersion": "example.com/v1",
		"metadata": map[string]any{"namespace": "ns", "name": name, "uid": "uid-" + name, "resourceVersion": fmt.Sprint(l.version), "labels": l.labels},
	})
	return body
}

// selected returns the versions of the things that a selector selects.
func (h *selectingHost) selected(selector labels.Selector) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	selected := map[string]string{}
	for name, thing := range h.things {
		if selector.Matches(thing.labels) {
			selected[name] = fmt.Sprint(thing.version)
		}
	}
	return selected
}

// anyThing creates, changes or deletes a random thing.
func (h *selectingHost) anyThing(random *rand.Rand) {
	name := fmt.Sprint("thing-", random.IntN(12))
	h.mu.Lock()
	_, there := h.things[name]
	h.mu.Unlock()
	if there && random.IntN(4) == 0 {
		h.set(name, "")
		return
	}
	h.set(name, fmt.Sprintf("a=%d,b=%d", random.IntN(4), random.IntN(4)))
}
