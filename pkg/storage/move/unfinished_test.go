// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// await waits until a file is there.
func await(t *testing.T, path string) {
	t.Helper()
	for range 10_000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Errorf("%s has not come", path)
}

// moveInPart moves until some keys have come, and is ended then.
func moveInPart(t *testing.T, from, to Place) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 1)
	go func() {
		_, err := Move(ctx, from, to, prefix)
		ended <- err
	}()
	servers := to.Servers
	if to.DataDir != "" {
		socket := filepath.Join(to.DataDir, "etcd.moving", "etcd", "client.sock")
		await(t, socket)
		servers = []string{"unix://" + socket}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: servers, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	// A watch would begin too late, and what came before that may be compacted.
	for count := int64(0); count == 0 && ctx.Err() == nil; {
		if found, err := client.Get(ctx, prefix+"/things/", clientv3.WithPrefix(), clientv3.WithCountOnly()); err == nil {
			count = found.Count
		}
	}
	end()
	if err := <-ended; err == nil {
		t.Fatal("the move has finished before it was ended")
	}
	_ = client.Close()
}

func TestAMoveToADataDirectoryThatWasEndedBeginsAnew(t *testing.T) {
	const count = 1234
	large := strings.Repeat("x", 20_000)
	theirs, stop := serve(t, newDir(t))
	defer stop()
	put(t, theirs, count, large)
	seen := expectKeys(t, theirs, count, large)
	from, to := Place{Servers: theirs.Endpoints()}, Place{DataDir: newDir(t)}
	moveInPart(t, from, to)

	_, err := etcd.Start(t.Context(), etcd.Config{DataDir: to.DataDir})
	if err == nil || !strings.Contains(err.Error(), "run `metacontroller-apiserver storage move` again") {
		t.Fatalf("a server starts with what has come: %v", err)
	}
	mustMove(t, from, to)
	use(t, to.DataDir, func(client *clientv3.Client) {
		if now := expectKeys(t, client, count, large); now <= seen {
			t.Errorf("the revision was %d and is %d", seen, now)
		}
		expectForgotten(t, client, seen+1)
	})
}

func TestAMoveToAnEtcdThatWasEndedBeginsAnew(t *testing.T) {
	const count = 1234
	large := strings.Repeat("x", 20_000)
	from := Place{DataDir: newDir(t)}
	var seen int64
	use(t, from.DataDir, func(client *clientv3.Client) {
		put(t, client, count, large)
		seen = expectKeys(t, client, count, large)
	})
	theirs, stop := serve(t, newDir(t))
	defer stop()
	to := Place{Servers: theirs.Endpoints()}
	moveInPart(t, from, to)

	// Something that is no longer there when it is moved again.
	if _, err := theirs.Put(t.Context(), key(count), large); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := Await(ctx, theirs, prefix); err == nil {
		t.Fatal("a server starts with what has come")
	}
	_, err := Move(t.Context(), to, Place{DataDir: newDir(t)}, prefix)
	if err == nil || !strings.Contains(err.Error(), "a move to it (from "+from.DataDir) {
		t.Errorf("what has come is moved on: %v", err)
	}
	mustMove(t, from, to)
	if now := expectKeys(t, theirs, count, large); now <= seen {
		t.Errorf("the revision was %d and is %d", seen, now)
	}
	expectForgotten(t, theirs, seen+1)
	if err := Await(t.Context(), theirs, prefix); err != nil {
		t.Error(err)
	}
}

// The data directory says that its storage was moved, and the etcd that the move has not finished.
func TestAMoveThatWasEndedBeforeItsLastStepBeginsAnew(t *testing.T) {
	from := Place{DataDir: newDir(t)}
	use(t, from.DataDir, func(client *clientv3.Client) { put(t, client, 3, "old") })
	theirs, stop := serve(t, newDir(t))
	defer stop()
	to := Place{Servers: theirs.Endpoints()}
	mustMove(t, from, to)
	_, err := Move(t.Context(), from, to, prefix)
	if err == nil || !strings.Contains(err.Error(), "the storage was moved to") {
		t.Errorf("what was moved is moved again: %v", err)
	}

	if _, err := theirs.Put(t.Context(), markKey(prefix+"/"), "from here"); err != nil {
		t.Fatal(err)
	}
	mustMove(t, from, to)
	expectKeys(t, theirs, 3, "old")
}

func TestOfTwoMovesToOneEtcdTheEarlierFails(t *testing.T) {
	theirs, stop := serve(t, newDir(t))
	defer stop()
	to := Place{Servers: theirs.Endpoints()}
	moves := []*storage{}
	for _, mark := range []string{"earlier", "later"} {
		move, err := to.open(t.Context(), prefix+"/")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = move.close() }()
		if err := move.begin(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
		moves = append(moves, move)
	}
	if _, err := moves[0].write(t.Context(), clientv3.OpPut(key(0), "old")); err == nil || !strings.Contains(err.Error(), "somebody else writes there too") {
		t.Errorf("the earlier move goes on: %v", err)
	}
	if _, err := moves[1].write(t.Context(), clientv3.OpPut(key(0), "new")); err != nil {
		t.Errorf("the later move does not go on: %v", err)
	}
}
