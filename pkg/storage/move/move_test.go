// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

const prefix = "/metacontroller"

// newDir returns a directory with a path that is short enough for a socket.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// use runs a server with a data directory while do works with it.
func use(t *testing.T, dataDir string, do func(*clientv3.Client)) {
	t.Helper()
	client, stop := serve(t, dataDir)
	do(client)
	stop()
}

// serve starts an etcd. Its socket stands for the servers of an etcd of somebody.
func serve(t *testing.T, dataDir string) (client *clientv3.Client, stop func()) {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	client, err = clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return client, func() {
		t.Helper()
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	}
}

func put(t *testing.T, client *clientv3.Client, count int, value string) {
	t.Helper()
	for i := range count {
		if _, err := client.Put(t.Context(), key(i), value); err != nil {
			t.Fatal(err)
		}
	}
}

func key(number int) string { return fmt.Sprintf("%s/things/%05d", prefix, number) }

func expectKeys(t *testing.T, client *clientv3.Client, count int, value string) (revision int64) {
	t.Helper()
	found, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Kvs) != count {
		t.Errorf("there are %d keys, want %d", len(found.Kvs), count)
	}
	for i, one := range found.Kvs {
		if string(one.Key) != key(i) || string(one.Value) != value {
			t.Fatalf("key %d is %s with %d bytes", i, one.Key, len(one.Value))
		}
	}
	return found.Header.GetRevision()
}

// expectForgotten fails the test unless a watch from a revision is told that it is compacted.
func expectForgotten(t *testing.T, client *clientv3.Client, revision int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if answer := <-client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(revision)); !errors.Is(answer.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from revision %d has got %+v, want that it is compacted", revision, answer)
	}
}

func mustMove(t *testing.T, from, to Place) *Moved {
	t.Helper()
	moved, err := Move(t.Context(), from, to, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

// There and back: revisions rise all the way, and nobody can go on with the first storage by mistake.
func TestAStorageMovesToAnEtcdAndBack(t *testing.T) {
	const count = 1234 // several pages and batches
	first, second := newDir(t), newDir(t)
	large := strings.Repeat("x", 20_000)
	var seen int64
	use(t, first, func(client *clientv3.Client) {
		put(t, client, count, "old")
		put(t, client, count, large)
		seen = expectKeys(t, client, count, large)
	})

	theirs, stop := serve(t, newDir(t))
	defer stop()
	if _, err := theirs.Put(t.Context(), "/registry/theirs", "theirs"); err != nil {
		t.Fatal(err)
	}
	servers := Place{Servers: theirs.Endpoints()}
	moved := mustMove(t, Place{DataDir: first}, servers)
	if moved.Keys != count || moved.From != seen || moved.To <= seen {
		t.Errorf("moved %+v, want %d keys from revision %d to a later one", moved, count, seen)
	}
	now := expectKeys(t, theirs, count, large)
	expectForgotten(t, theirs, seen+1) // from where a client that has seen all goes on
	if found, err := theirs.Get(t.Context(), "/registry/theirs"); err != nil || len(found.Kvs) != 1 {
		t.Errorf("what was there before is %v, %v", found, err)
	}
	if _, err := etcd.Start(t.Context(), etcd.Config{DataDir: first}); err == nil || !strings.Contains(err.Error(), "the storage was moved to "+servers.String()) {
		t.Errorf("the old storage is used again: %v", err)
	}

	mustMove(t, servers, Place{DataDir: second})
	use(t, second, func(client *clientv3.Client) {
		if revision := expectKeys(t, client, count, large); revision <= now {
			t.Errorf("the revision was %d and is %d", now, revision)
		}
		expectForgotten(t, client, now+1)
	})

	if _, err := theirs.Delete(t.Context(), prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	mustMove(t, Place{DataDir: second}, servers)
	expectKeys(t, theirs, count, large)
}

func TestWhatIsNotMoved(t *testing.T) {
	used, empty := newDir(t), newDir(t)
	use(t, used, func(client *clientv3.Client) { put(t, client, 1, "old") })
	theirs, stop := serve(t, newDir(t))
	defer stop()
	put(t, theirs, 1, "theirs")
	running := newDir(t)
	_, stopRunning := serve(t, running)
	defer stopRunning()
	for name, test := range map[string]struct {
		from, to Place
		words    string
	}{
		"to keys of somebody":     {Place{DataDir: used}, Place{Servers: theirs.Endpoints()}, "has keys already, such as " + key(0)},
		"to a storage":            {Place{Servers: theirs.Endpoints()}, Place{DataDir: used}, "has a storage already"},
		"from no storage":         {Place{DataDir: empty}, Place{Servers: theirs.Endpoints()}, "has no storage"},
		"from a server that runs": {Place{DataDir: running}, Place{Servers: theirs.Endpoints()}, "is in use"},
		"from nobody":             {Place{Servers: []string{"unix:///nowhere"}}, Place{DataDir: empty}, "reach unix:///nowhere"},
		"to nobody":               {Place{DataDir: used}, Place{Servers: []string{"unix:///nowhere"}}, "unix:///nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Move(t.Context(), test.from, test.to, prefix); err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("the error is %v, want %q in it", err, test.words)
			}
		})
	}
	use(t, used, func(client *clientv3.Client) { expectKeys(t, client, 1, "old") })
	expectKeys(t, theirs, 1, "theirs")
}

func TestRevisionsThatAreTooFarBehind(t *testing.T) {
	dir := newDir(t)
	arrival, err := etcd.Receive(t.Context(), dir, 10*mostRaises)
	if err != nil {
		t.Fatal(err)
	}
	if err := arrival.Finish(); err != nil {
		t.Fatal(err)
	}
	use(t, dir, func(client *clientv3.Client) { put(t, client, 1, "old") })
	theirs, stop := serve(t, newDir(t))
	defer stop()
	_, err = Move(t.Context(), Place{DataDir: dir}, Place{Servers: theirs.Endpoints()}, prefix)
	if err == nil || !strings.Contains(err.Error(), "make that etcd from a snapshot instead") {
		t.Errorf("the error is %v", err)
	}
	expectKeys(t, theirs, 0, "")
}
