// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestAMoveThatFindsNothingFails(t *testing.T) {
	from := Place{DataDir: newDir(t)}
	use(t, from.DataDir, func(client *clientv3.Client) {
		put(t, client, 3, "old")
		lease, err := client.Grant(t.Context(), 3600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(t.Context(), "/other/settled/uid/000000", "no object", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	})
	theirs, stop := serve(t, newDir(t))
	defer stop()
	for _, wrong := range []string{"/metacontroler", "/other"} {
		_, err := Move(t.Context(), from, Place{Servers: theirs.Endpoints()}, wrong)
		if err == nil || !strings.Contains(err.Error(), "no key begins with "+wrong+"/; is --etcd-prefix that of the server?") {
			t.Errorf("the error is %v", err)
		}
	}
	if found, err := theirs.Get(t.Context(), "/", clientv3.WithPrefix()); err != nil || found.Count != 0 {
		t.Errorf("it has written %v, %v", found, err)
	}
	use(t, from.DataDir, func(client *clientv3.Client) { expectKeys(t, client, 3, "old") })
}

// The API server begins its keys with a slash, whatever it is given.
func TestThePrefixIsReadAsTheServerReadsIt(t *testing.T) {
	for _, written := range []string{"metacontroller", "/metacontroller/", "//metacontroller"} {
		t.Run(written, func(t *testing.T) {
			theirs, stop := serve(t, newDir(t))
			defer stop()
			put(t, theirs, 3, "old")
			to := Place{DataDir: newDir(t)}
			if _, err := Move(t.Context(), Place{Servers: theirs.Endpoints()}, to, written); err != nil {
				t.Fatal(err)
			}
			use(t, to.DataDir, func(client *clientv3.Client) { expectKeys(t, client, 3, "old") })
		})
	}
}

// A replica that was left running writes while its objects are moved.
func TestAMoveFailsIfAServerStillWrites(t *testing.T) {
	for name, test := range map[string]struct {
		write func(context.Context, *clientv3.Client) error
		fails bool
	}{
		"a new object": {fails: true, write: func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.Put(ctx, key(3), "new")
			return err
		}},
		"a change": {fails: true, write: func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.Put(ctx, key(1), "new")
			return err
		}},
		"a deletion": {fails: true, write: func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.Delete(ctx, key(1))
			return err
		}},
		"an object replaced by another one": {fails: true, write: func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.Txn(ctx).Then(clientv3.OpDelete(key(1)), clientv3.OpPut(key(3), "new")).Commit()
			return err
		}},
		"what goes by itself": {write: func(ctx context.Context, client *clientv3.Client) error {
			lease, err := client.Grant(ctx, 3600)
			if err != nil {
				return err
			}
			_, err = client.Put(ctx, prefix+"/settled/uid/000000", "no object", clientv3.WithLease(lease.ID))
			return err
		}},
		"something of others": {write: func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.Put(ctx, "/registry/theirs", "new")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, stop := serve(t, newDir(t))
			defer stop()
			put(t, theirs, 3, "old")
			from, to := Place{Servers: theirs.Endpoints()}, Place{DataDir: newDir(t)}
			written := make(chan error, 1)
			go func() {
				await(t, filepath.Join(to.DataDir, "etcd.moving"))
				written <- test.write(t.Context(), theirs)
			}()
			_, err := Move(t.Context(), from, to, prefix)
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			if fails := err != nil && strings.Contains(err.Error(), "a server still writes to "+from.String()); fails != test.fails {
				t.Fatalf("the error is %v", err)
			}
			if test.fails {
				mustMove(t, from, to)
			}
		})
	}
}

// The image of the server has no directory for temporary files.
func TestAMoveNeedsNoDirectoryButThatOfTheData(t *testing.T) {
	theirs, stop := serve(t, newDir(t))
	defer stop()
	put(t, theirs, 3, "old")
	to := Place{DataDir: newDir(t)}
	t.Setenv("TMPDIR", "/nonexistent")
	mustMove(t, Place{Servers: theirs.Endpoints()}, to)
	use(t, to.DataDir, func(client *clientv3.Client) { expectKeys(t, client, 3, "old") })
}
