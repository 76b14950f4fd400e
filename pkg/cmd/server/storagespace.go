// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// storageSpacePath is where the server says whether its storage takes writes. It looks like a check of
// readiness and is none: a server that is not ready is taken out of its Service, and then nobody could read or
// delete any more.
const storageSpacePath = "/readyz/storage-space"

// storageSpace answers 200 while the storage takes writes, and else 503 with the reason and what to do.
func storageSpace(storage *etcd.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := storage.SpaceProblem(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}
