// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Call is one request to the hook.
type Call struct {
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time // when it arrived
	Peer   string    // address of the caller, another for each connection
}

// Trigger returns what woke the sync that the call is for.
func (c Call) Trigger() string { return c.Header.Get("X-Metacontroller-Trigger") }

// Decode reads the request body into a value, and the trigger if it has a place for it.
func (c Call) Decode(into any) error {
	if request, ok := into.(interface{ setTrigger(string) }); ok {
		request.setTrigger(c.Trigger())
	}
	if err := json.Unmarshal(c.Body, into); err != nil {
		return fmt.Errorf("decode the hook request %q: %w", c.Body, err)
	}
	return nil
}

// Answer is what the hook replies.
type Answer struct {
	Status int // 0 is 200
	Header http.Header
	Body   []byte
}

// JSON answers 200 with a value.
func JSON(value any) Answer {
	body, err := json.Marshal(value)
	if err != nil {
		return Text(http.StatusInternalServerError, fmt.Sprintf("the test's answer is no JSON: %v", err))
	}
	return Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// Text answers with a status and a body as they are.
func Text(status int, body string) Answer {
	return Answer{Status: status, Body: []byte(body)}
}

// Handler answers a call. To let a caller wait for its timeout, wait for ctx: it ends when the
// caller gives up.
type Handler func(ctx context.Context, call Call) Answer

// Answering returns a handler that decodes requests as R and answers JSON.
func Answering[R any](t testing.TB, answer func(R) map[string]any) Handler {
	return func(_ context.Context, call Call) Answer {
		var asked R
		if err := call.Decode(&asked); err != nil {
			t.Errorf("the hook was sent something that cannot be read: %v", err)
		}
		return JSON(answer(asked))
	}
}

// Server is a webhook on loopback that remembers its calls.
type Server struct {
	http *httptest.Server

	mu      sync.Mutex
	handler Handler
	calls   []Call
	open    int
}

// Serve starts a hook that lasts as long as the test.
func Serve(t testing.TB, handler Handler) *Server {
	s := newServer(t, handler)
	s.http.Start()
	return s
}

// ServeTLS starts a hook that is called by https. Config is asked at every handshake.
func ServeTLS(t testing.TB, config func() *tls.Config, handler Handler) *Server {
	s := newServer(t, handler)
	s.http.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return config(), nil }}
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // what it thinks of refused handshakes
	s.http.StartTLS()
	return s
}

func newServer(t testing.TB, handler Handler) *Server {
	s := &Server{handler: handler}
	s.http = httptest.NewUnstartedServer(s)
	s.http.Config.ConnState = s.count
	t.Cleanup(func() {
		s.http.CloseClientConnections() // else Close waits for callers that a handler keeps waiting
		s.http.Close()
	})
	return s
}

// URL is where the hook is; path begins with a slash.
func (s *Server) URL(path string) string { return s.http.URL + path }

// Handle replaces the handler for the calls to come.
func (s *Server) Handle(handler Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Calls returns the calls so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Connections is how many connections callers have open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *Server) count(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open++
	case http.StateClosed, http.StateHijacked:
		s.open--
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	call := Call{Path: r.URL.Path, Header: r.Header, Body: body, At: time.Now(), Peer: r.RemoteAddr}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	handler := s.handler
	s.mu.Unlock()

	answer := handler(r.Context(), call)
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	if answer.Status != 0 {
		w.WriteHeader(answer.Status)
	}
	_, _ = w.Write(answer.Body) // a caller that has gone away is its own business
}
