// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func TestWatchesEndWhenTheHostFindsTheAPIElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		info request.RequestInfo
		user string
		ends bool
	}{
		"a watch of the API":        {request.RequestInfo{Verb: "watch", APIGroup: "metacontroller.k8s.io"}, "somebody", true},
		"a watch of the server":     {request.RequestInfo{Verb: "watch", APIGroup: "metacontroller.k8s.io"}, user.APIServerUser, false},
		"a watch of another group":  {request.RequestInfo{Verb: "watch", APIGroup: "apps"}, "somebody", false},
		"another request":           {request.RequestInfo{Verb: "list", APIGroup: "metacontroller.k8s.io"}, "somebody", false},
		"a request without a group": {request.RequestInfo{Verb: "get"}, "somebody", false},
	} {
		t.Run(name, func(t *testing.T) {
			leading, moved := context.WithCancel(t.Context())
			handler := endWatches(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Context().Err() != nil {
					t.Error("it ends before the host finds the API elsewhere")
				}
				moved()
				if !test.ends {
					if r.Context().Err() != nil {
						t.Error("it ends")
					}
					return
				}
				<-r.Context().Done()
			}), func() context.Context { return leading })
			ctx := request.WithRequestInfo(request.WithUser(t.Context(), &user.DefaultInfo{Name: test.user}), &test.info)
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		})
	}
}

func TestWhoIsAskedToOpenAnotherConnection(t *testing.T) {
	running, stopping := make(chan struct{}), make(chan struct{})
	close(stopping)
	tests := map[string]struct {
		http2       bool
		chance      float64
		stopping    <-chan struct{}
		connections int32 // that two requests take
	}{
		"nobody without a chance":                       {chance: 0, stopping: running, connections: 1},
		"everybody with a chance of one":                {chance: 1, stopping: running, connections: 2},
		"everybody once the server stops":               {chance: 0, stopping: stopping, connections: 2},
		"nobody with HTTP/2, which would lose requests": {http2: true, chance: 1, stopping: stopping, connections: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
			server := httptest.NewUnstartedServer(spreadConnections(answer, test.chance, test.stopping))
			server.EnableHTTP2 = test.http2
			var connections atomic.Int32
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			server.StartTLS()
			defer server.Close()
			for range 2 {
				response, err := server.Client().Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				if err := response.Body.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := connections.Load(); got != test.connections {
				t.Errorf("two requests took %d connections, want %d", got, test.connections)
			}
		})
	}
}
