// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// childDataDir, in the environment, makes the test binary a process that runs an etcd there until
// it is killed.
const childDataDir = "ETCD_TEST_CHILD_DATA_DIR"

const (
	mebi = 1 << 20
	// valueBytes is the size of a large object.
	valueBytes = 100 << 10
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDataDir); dir != "" {
		if err := serveAndWrite(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// start starts an etcd that ends with the test.
func start(t *testing.T, config Config) *Server {
	t.Helper()
	server, err := Start(t.Context(), config)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return server
}

func connect(t *testing.T, server *Server) *clientv3.Client {
	t.Helper()
	client, err := newClient(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func newClient(server *Server) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
}

func put(t *testing.T, client *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := client.Put(t.Context(), key, value); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func get(ctx context.Context, client *clientv3.Client, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // an etcd that has ended answers nothing
	defer cancel()
	response, err := client.Get(ctx, key)
	if err != nil {
		return "", err
	}
	if len(response.Kvs) != 1 {
		return "", fmt.Errorf("key %s: %d values", key, len(response.Kvs))
	}
	return string(response.Kvs[0].Value), nil
}

func wantKey(t *testing.T, client *clientv3.Client, key string) {
	t.Helper()
	if _, err := get(t.Context(), client, key); err != nil {
		t.Errorf("reading: %v", err)
	}
}

// wantWords fails the test if an error does not have all of the words.
func wantWords(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v does not say %q", err, word)
		}
	}
}
