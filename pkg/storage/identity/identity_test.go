// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/identity"
)

func client(t *testing.T) *clientv3.Client {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAStorageHasOneIDWhoeverAsksFirst(t *testing.T) {
	storage := identity.Storage{Client: client(t), Prefix: "/metacontroller"}
	ids := make([]string, 10)
	var asking sync.WaitGroup
	for i := range ids {
		asking.Go(func() {
			id, err := storage.Claim(t.Context(), "one")
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	asking.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("the IDs are %q", ids)
		}
	}
	other := storage
	other.Prefix = "other"
	if id, err := other.Claim(t.Context(), "two"); err != nil || id == ids[0] {
		t.Errorf("the ID of another prefix is %q, %v", id, err)
	}
}

func TestAStorageOfAnotherCluster(t *testing.T) {
	storage := identity.Storage{Client: client(t), Prefix: "metacontroller"}
	id, err := storage.Claim(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	_, err = storage.Claim(t.Context(), "two")
	if !identity.IsOfOtherCluster(err) {
		t.Fatalf("the error is %v", err)
	}
	for _, part := range []string{"/metacontroller/storage", "one", "two", "--etcd-prefix"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	storage.Place = "here" // it was restored from a snapshot, and nobody else can have it
	here, err := storage.Claim(t.Context(), "two")
	if err != nil || here == id {
		t.Fatalf("the ID is %q, %v; want another one than %q", here, err, id)
	}
	if again, err := storage.Claim(t.Context(), "two"); err != nil || again != here {
		t.Errorf("the ID is %q, %v; want %q as before", again, err, here)
	}
	storage.Place = "a copy"
	if there, err := storage.Claim(t.Context(), "two"); err != nil || there == here {
		t.Errorf("the ID of a copy is %q, %v; want another one", there, err)
	}
	storage.Place = ""
	if _, err := storage.Claim(t.Context(), "one"); !identity.IsOfOtherCluster(err) {
		t.Errorf("the former cluster has it still: %v", err)
	}
}
