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

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

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
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{storage.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for i := range mebibytes {
		if _, err := client.Put(t.Context(), fmt.Sprint(i), strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
}
