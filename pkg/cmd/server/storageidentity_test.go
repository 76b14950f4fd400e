// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"sync"
	"testing"
)

func TestAStorageHasOneIDWhoeverAsksFirst(t *testing.T) {
	storage := keyspace{client: newEtcdClient(t, startEtcd(t)), prefix: "/metacontroller"}
	ids := make([]string, 10)
	var asking sync.WaitGroup
	for i := range ids {
		asking.Go(func() {
			id, err := storage.claim(t.Context(), "one")
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
	other.prefix = "other"
	if id, err := other.claim(t.Context(), "two"); err != nil || id == ids[0] {
		t.Errorf("the ID of another prefix is %q, %v", id, err)
	}
}

func TestAStorageOfAnotherCluster(t *testing.T) {
	storage := keyspace{client: newEtcdClient(t, startEtcd(t)), prefix: "metacontroller"}
	id, err := storage.claim(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	_, err = storage.claim(t.Context(), "two")
	if !isOfOtherCluster(err) {
		t.Fatalf("the error is %v", err)
	}
	for _, part := range []string{"/metacontroller/storage", "one", "two", "--etcd-prefix"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	storage.place = "here" // it was restored from a snapshot, and nobody else can have it
	here, err := storage.claim(t.Context(), "two")
	if err != nil || here == id {
		t.Fatalf("the ID is %q, %v; want another one than %q", here, err, id)
	}
	if again, err := storage.claim(t.Context(), "two"); err != nil || again != here {
		t.Errorf("the ID is %q, %v; want %q as before", again, err, here)
	}
	storage.place = "a copy"
	if there, err := storage.claim(t.Context(), "two"); err != nil || there == here {
		t.Errorf("the ID of a copy is %q, %v; want another one", there, err)
	}
	storage.place = ""
	if _, err := storage.claim(t.Context(), "one"); !isOfOtherCluster(err) {
		t.Errorf("the former cluster has it still: %v", err)
	}
}
