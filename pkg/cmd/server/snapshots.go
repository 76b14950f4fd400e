// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// SnapshotPath is where the server answers with a snapshot of its storage. The path is below its API version,
// so that the aggregation layer of the cluster leads there. Who gets it needs the verb get on the resource
// snapshots of metacontroller.k8s.io.
const SnapshotPath = "/apis/metacontroller.k8s.io/v1alpha1/snapshots/current"

// serveSnapshots makes the server answer at SnapshotPath. Users are known and authorized there as for all paths
// of the API. Without an embedded storage the answer is 501.
func serveSnapshots(config *apiserver.Config, storage *etcd.Server) {
	generic := &config.GenericConfig.Config
	build := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(next http.Handler, config *genericapiserver.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != SnapshotPath {
				next.ServeHTTP(w, r)
				return
			}
			serveSnapshot(w, r, storage)
		}), config)
	}
}

func serveSnapshot(w http.ResponseWriter, r *http.Request, storage *etcd.Server) {
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "a snapshot can only be read", http.StatusMethodNotAllowed)
		return
	case storage == nil:
		http.Error(w, "the server keeps its objects in an external etcd: save a snapshot with etcdctl", http.StatusNotImplemented)
		return
	}
	snapshot, err := storage.Snapshot(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		if err := snapshot.Close(); err != nil {
			klog.FromContext(r.Context()).Error(err, "Failed to end a snapshot")
		}
	}()
	// A client that does not read would block a write forever: the timeout of a request does not end that.
	if end, limited := r.Context().Deadline(); limited {
		_ = http.NewResponseController(w).SetWriteDeadline(end) // not all connections have one
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, snapshot); err != nil {
		klog.FromContext(r.Context()).Error(err, "Failed to send a snapshot")
		panic(http.ErrAbortHandler) // so that the client knows that it does not have all
	}
}
