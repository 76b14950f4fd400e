// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package settled

import (
	"bytes"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

func newStore(t *testing.T) *Store {
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
	return New(client, "/metacontroller")
}

func (s *Store) expect(t *testing.T, record []byte) {
	t.Helper()
	got, err := s.Load(t.Context(), "uid")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, record) {
		t.Errorf("%d bytes are read, want the %d that were written", len(got), len(record))
	}
}

func TestTheLastRecordIsRead(t *testing.T) {
	store := newStore(t)
	store.expect(t, nil)
	for _, size := range []int{100, 3*partBytes + 100, partBytes - sumBytes, 2 * partBytes, 0, 1} {
		record := bytes.Repeat([]byte{byte(size), 2, 3}, size/3+1)[:size]
		if err := store.Save(t.Context(), "uid", record); err != nil {
			t.Fatal(err)
		}
		store.expect(t, record)
	}
	if got, err := store.Load(t.Context(), "ui"); err != nil || got != nil {
		t.Errorf("the record of another controller is %v, %v", got, err)
	}
	leases, err := store.client.Leases(t.Context())
	if err != nil || len(leases.Leases) != 1 {
		t.Errorf("there are %d leases, want that of the last record: %v", len(leases.Leases), err)
	}
}

func TestARecordThatWasNotWrittenToItsEndCountsAsNone(t *testing.T) {
	store := newStore(t)
	if err := store.Save(t.Context(), "uid", make([]byte, 2*partBytes)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.client.Put(t.Context(), store.recordPrefix("uid")+"000001", "of the next record"); err != nil {
		t.Fatal(err)
	}
	store.expect(t, nil)
}

// The records are beside the objects, whose keys the API server begins with a slash.
func TestRecordsAreBesideTheObjectsWhateverThePrefixIs(t *testing.T) {
	store := newStore(t)
	if err := New(store.client, "metacontroller/").Save(t.Context(), "uid", []byte("record")); err != nil {
		t.Fatal(err)
	}
	store.expect(t, []byte("record"))
}
