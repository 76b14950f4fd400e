// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// hookName is what its round trips are called beside what contestants take.
const hookName = "hook"

// hook answers which pages a site shall have, and remembers its calls.
type hook struct {
	server *httptest.Server

	mu    sync.Mutex
	calls int
	first map[string]time.Time // when each site was first asked about
	last  []byte               // the last request
	delay time.Duration
}

func serveHook() *hook {
	h := &hook{first: map[string]time.Time{}}
	h.server = httptest.NewServer(h)
	return h
}

func (h *hook) close() { h.server.Close() }

func (h *hook) url() string { return h.server.URL }

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var asked struct{ Parent site.Site }
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.calls++
	if _, known := h.first[asked.Parent.Name]; !known {
		h.first[asked.Parent.Name] = at
	}
	h.last = body
	delay := h.delay
	h.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // a caller that has gone away is its own business
		Children []*corev1.ConfigMap `json:"children"`
	}{asked.Parent.Pages()})
}

// answerAfter sets how long an answer takes.
func (h *hook) answerAfter(delay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delay = delay
}

// count is how many calls there were.
func (h *hook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

// forget starts anew to remember.
func (h *hook) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls, h.first = 0, map[string]time.Time{}
}

// firstCalls is when each site was first asked about.
func (h *hook) firstCalls() map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.first)
}

// wait waits until there were so many calls.
func (h *hook) wait(ctx context.Context, calls int) error {
	return poll.Within(ctx, patience, func(context.Context) error {
		if count := h.count(); count < calls {
			return fmt.Errorf("the hook was called %d times, not %d", count, calls)
		}
		return nil
	})
}

// roundTrips calls the hook with the last request, as often as asked for.
func (h *hook) roundTrips(ctx context.Context, times int) ([]time.Duration, error) {
	h.mu.Lock()
	body := h.last
	h.mu.Unlock()
	if body == nil {
		return nil, errors.New("the hook was never called")
	}
	var took []time.Duration
	for range times {
		begin := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		response, err := h.server.Client().Do(request)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}
