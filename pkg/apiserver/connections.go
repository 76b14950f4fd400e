// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"math/rand/v2"
	"net/http"
)

// spreadConnections asks the client of a request over HTTP/1.1 to open another connection for its next request, which may lead to
// another server: with the given chance, and always once stopping is closed. So clients have left a server that stops
// before it closes its connections.
//
// The library does this for HTTP/2, but loses requests. A GOAWAY frame may meet requests that are on their way.
// kube-apiserver cannot repeat a request whose body it has passed on, and answers 503, see
// https://github.com/kubernetes/kubernetes/issues/135285. On a connection of HTTP/1.1, no other request is on its way when an answer
// closes it.
func spreadConnections(next http.Handler, chance float64, stopping <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (isClosed(stopping) || rand.Float64() < chance) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
