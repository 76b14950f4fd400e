// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"io"
	"net/http"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// StorageOptions are the settings of the embedded etcd.
type StorageOptions struct {
	// DataDir is the directory of the data. No other process may use it.
	DataDir string
	// QuotaBytes is the size of the database at which writes are refused; 0 is etcd's default, 2 GiB.
	QuotaBytes int64
	// MaxObjectBytes bounds the JSON of an object, in bytes. MaxControllersPerNamespace bounds the controllers that have
	// service accounts in one namespace or are limited to it.
	MaxObjectBytes             int
	MaxControllersPerNamespace int
}

// NewStorageOptions returns the defaults.
func NewStorageOptions() *StorageOptions {
	return &StorageOptions{DataDir: defaultDataDir, MaxObjectBytes: 512 << 10, MaxControllersPerNamespace: 100}
}

func (o *StorageOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Directory for the data of the embedded etcd and for the self-signed certificate. Only one process may use it, "+
			"and its content must persist when the process ends. The server creates it if it does not exist.")
	flags.Int64Var(&o.QuotaBytes, "etcd-quota-backend-bytes", o.QuotaBytes, "The size in bytes at which the embedded "+
		"etcd rejects writes. It should be less than half of the volume of --data-dir. 0 is etcd's default, 2 GiB.")
	flags.IntVar(&o.MaxObjectBytes, "max-object-bytes", o.MaxObjectBytes, "Maximum size of a controller or a "+
		"ControllerRevision in bytes of JSON. Larger objects that are already stored remain valid.")
	flags.IntVar(&o.MaxControllersPerNamespace, "max-controllers-per-namespace", o.MaxControllersPerNamespace,
		"Maximum number of controllers that have a spec.serviceAccount in one namespace or, without an account, are "+
			"limited to it by spec.namespaces. The server does not count controllers with neither.")
}

func (o *StorageOptions) validate() []error {
	var errs []error
	if o.DataDir == "" {
		errs = append(errs, errors.New("--data-dir must not be empty"))
	}
	if o.MaxObjectBytes < 1 || o.MaxControllersPerNamespace < 1 {
		errs = append(errs, errors.New("--max-object-bytes and --max-controllers-per-namespace must be at least 1"))
	}
	if o.QuotaBytes < 0 {
		errs = append(errs, errors.New("--etcd-quota-backend-bytes must not be negative"))
	}
	return errs
}

// SnapshotPath is the path of a snapshot of the storage. It is below the API version, so the aggregation layer of the
// cluster forwards it. A user needs the verb get on the resource snapshots of metacontroller.k8s.io.
const SnapshotPath = "/apis/metacontroller.k8s.io/v1alpha1/snapshots/current"

// serveSnapshots makes the server answer at SnapshotPath. Users are authenticated and authorized as for all paths of
// the API. Without an embedded storage, the answer is 501.
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
		http.Error(w, "the server stores its objects in an external etcd: save a snapshot with etcdctl",
			http.StatusNotImplemented)
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
