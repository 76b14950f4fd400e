// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

func TestAServerWhoseStorageIsFullSaysSoAndServesReads(t *testing.T) {
	clients := newClientAuthority(t)
	config := serverConfig{dataDir: newDataDir(t), clientCA: clients.file}
	config.options = func(o *Options) { o.Storage.QuotaBytes = 1 }
	server := start(t, config)
	_, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		Create(t.Context(), newController("late"), metav1.CreateOptions{})
	// The alert MetacontrollerWritesFail counts answers with this code.
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "database space exceeded") {
		t.Errorf("creating an object: error %v", err)
	}
	mustGet(t, server.client(t, clients.admin(t)), server.url(compositeControllersPath), http.StatusOK)
	mustGet(t, server.anonymous(t), server.url("/readyz"), http.StatusOK)
}

func TestAServerThatCannotReachItsEtcdEndsAndNamesIt(t *testing.T) {
	socket := "unix://" + filepath.Join(newDataDir(t), "etcd.sock")
	config := serverConfig{dataDir: newDataDir(t), given: []string{"shutdown-delay-duration"}}
	config.options = func(o *Options) { o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{socket} }
	err := launch(t, config).wait(t)
	for _, words := range []string{"etcd", "not ready", socket} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want %q in it", err, words)
		}
	}
}

func TestASnapshotIsSentOverEachProtocol(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	for version := 1; version <= 2; version++ {
		client := server.client(t, clients.admin(t))
		if version == 1 {
			transport := client.Transport.(*http.Transport)
			transport.ForceAttemptHTTP2 = false
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
		body, _ := mustGet(t, client, server.url(SnapshotPath), http.StatusOK)
		path := filepath.Join(t.TempDir(), "snapshot.db")
		writeFile(t, path, []byte(body))
		if _, err := etcd.InspectSnapshot(path); err != nil {
			t.Errorf("by HTTP/%d: %v", version, err)
		}
	}
}

func TestASnapshotThatNobodyReadsIsEnded(t *testing.T) {
	storage := startEtcd(t)
	fill(t, storage, 20) // more than all buffers on the way hold
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			ended := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				ctx, cancel := context.WithTimeout(r.Context(), time.Second) // as the server has one for each request
				defer cancel()
				serveSnapshot(w, r.WithContext(ctx), storage)
			}))
			server.EnableHTTP2 = version == 2
			server.StartTLS()
			defer server.Close()
			answer, err := server.Client().Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.ProtoMajor != version {
				t.Errorf("the protocol is %s", answer.Proto)
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("the snapshot is still open")
			}
		})
	}
}

// fill writes some MiB.
func fill(t *testing.T, storage *etcd.Server, mebibytes int) {
	t.Helper()
	client := newEtcdClient(t, storage)
	for i := range mebibytes {
		if _, err := client.Put(t.Context(), fmt.Sprint(i), strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
}
