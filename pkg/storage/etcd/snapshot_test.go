// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// A defragmentation waits for whoever reads a snapshot, and everybody waits for the defragmentation.
func TestAnOpenSnapshotPutsOffADefragmentation(t *testing.T) {
	server := start(t, Config{DataDir: shortTempDir(t), QuotaBytes: 8 * mebi})
	server.stopKeeping() // the test does that
	client := connect(t, server)
	size := worthDefragmenting(t, server)
	put(t, client, "key", "value")

	snapshot, err := server.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keeping := make(chan struct{})
	go func() {
		defer close(keeping)
		server.keep(t.Context())
	}()
	for until := time.Now().Add(time.Second); time.Now().Before(until); {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := client.Get(ctx, "key")
		cancel()
		if err != nil {
			t.Errorf("a read while the snapshot is open: %v", err)
			break
		}
	}
	if err := snapshot.Close(); err != nil {
		t.Fatal(err)
	}
	<-keeping
	if err := poll.Within(t.Context(), 20*time.Second, func(context.Context) error {
		if now := server.etcd.Server.Backend().Size(); now > size/2 {
			return fmt.Errorf("the database has %s, as before", bytesText(now))
		}
		return nil
	}); err != nil {
		t.Errorf("after the snapshot was closed: %v", err)
	}
}

func TestASnapshotWaitsForADefragmentation(t *testing.T) {
	server := start(t, Config{DataDir: shortTempDir(t)})
	snapshots := server.keeper.snapshots
	if !snapshots.exclude() {
		t.Fatal("a snapshot is open")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := server.Snapshot(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want that of the context", err)
	}
	wantWords(t, err, "no snapshot can be taken while the storage is being defragmented")

	taken := make(chan error)
	go func() {
		snapshot, err := server.Snapshot(t.Context())
		if err == nil {
			err = snapshot.Close()
		}
		taken <- err
	}()
	snapshots.admit()
	if err := <-taken; err != nil {
		t.Errorf("after the defragmentation: %v", err)
	}
}

// worthDefragmenting makes most of the database free, and returns its size.
func worthDefragmenting(t *testing.T, server *Server) int64 {
	t.Helper()
	client, backend := connect(t, server), server.etcd.Server.Backend()
	for i := 0; backend.Size() < server.keeper.quota*8/10; i++ {
		put(t, client, fmt.Sprintf("filler/%d", i), strings.Repeat("x", 100<<10))
		backend.ForceCommit()
	}
	for i := range 100 {
		if _, err := client.Delete(t.Context(), fmt.Sprintf("filler/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	compaction := &pb.CompactionRequest{Revision: server.etcd.Server.KV().Rev(), Physical: true}
	if _, err := server.etcd.Server.Compact(t.Context(), compaction); err != nil {
		t.Fatal(err)
	}
	server.keeper.settle(t.Context())
	if size := backend.Size(); !server.keeper.worthDefragmenting(size, size-backend.SizeInUse(), false) {
		t.Fatalf("of %s, only %s are free", bytesText(size), bytesText(size-backend.SizeInUse()))
	}
	return backend.Size()
}
