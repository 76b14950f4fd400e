// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A mark is a key of the storage that objects are moved to. It is written before all others and deleted after them,
// so what is there beside it is not whole. Its value says whose move that is, and all writes of a move depend on it:
// of two moves to one storage, the later one takes the mark, and the earlier one fails.

// markKey returns the key of the mark.
func markKey(prefix string) string { return prefix + "moving" }

// newMark returns a value that no other move has.
func newMark(from Place) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("from %s, by process %d of %s, since %s", from, os.Getpid(), host, time.Now().UTC().Format(time.RFC3339Nano)), nil
}

// readMark returns the mark of an unfinished move to an etcd, or "".
func readMark(ctx context.Context, client *clientv3.Client, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	found, err := client.Get(ctx, markKey(prefix))
	if err != nil || len(found.Kvs) == 0 {
		return "", err
	}
	return string(found.Kvs[0].Value), nil
}

// begin marks the storage. If there is an earlier mark, it removes what that move has left; if there is none, but
// there are other keys, it fails.
func (s *storage) begin(ctx context.Context, mark string) error {
	earlier, err := readMark(ctx, s.Client, s.prefix)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.place, s.explain(err))
	}
	s.mark = mark
	if earlier != "" {
		return s.takeOver(ctx, earlier)
	}
	if err := s.expectNone(ctx); err != nil {
		return err
	}
	none := clientv3.Compare(clientv3.CreateRevision(s.prefix).WithPrefix(), "=", 0)
	_, err = s.writeIf(ctx, []clientv3.Cmp{none}, clientv3.OpPut(markKey(s.prefix), mark))
	return err
}

func (s *storage) expectNone(ctx context.Context) error {
	found, err := s.Get(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("read %s: %w", s.place, s.explain(err))
	}
	if len(found.Kvs) > 0 {
		return fmt.Errorf("%s has keys already, such as %s: if nobody needs them, delete all that begin with %s, or else use "+
			"another --etcd-prefix", s.place, found.Kvs[0].Key, s.prefix)
	}
	return nil
}

// takeOver replaces the mark of an unfinished move, and removes what that has left.
func (s *storage) takeOver(ctx context.Context, earlier string) error {
	key := markKey(s.prefix)
	if _, err := s.writeIf(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", earlier)}, clientv3.OpPut(key, s.mark)); err != nil {
		return err
	}
	_, err := s.write(ctx,
		clientv3.OpDelete(s.prefix, clientv3.WithRange(key)),
		clientv3.OpDelete(key+"\x00", clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix))))
	return err
}

// unmark has servers start with what is there. It returns the revision.
func (s *storage) unmark(ctx context.Context) (revision int64, err error) {
	return s.write(ctx, clientv3.OpDelete(markKey(s.prefix)))
}
