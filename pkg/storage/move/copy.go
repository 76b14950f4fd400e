// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// pageKeys is how many keys are read at once.
	pageKeys = 500
	// batchKeys and batchBytes bound a transaction. etcd takes 128 operations, and 1.5 MiB.
	batchKeys, batchBytes = 100, 1 << 20
)

// each hands over all keys, page by page. Keys that would go by themselves are left out: they are no objects.
func (s *storage) each(ctx context.Context, handle func([]*mvccpb.KeyValue) error, options ...clientv3.OpOption) error {
	options = append(options, clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix)), clientv3.WithLimit(pageKeys))
	for next := s.prefix; ; {
		page, err := s.Get(ctx, next, options...)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.place, s.explain(err))
		}
		lasting := slices.DeleteFunc(slices.Clone(page.Kvs), func(key *mvccpb.KeyValue) bool { return key.GetLease() != 0 })
		if err := handle(lasting); err != nil {
			return err
		}
		if !page.More {
			return nil
		}
		next = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// survey returns the number of keys, and the revision of the last write to one of them. It reads values as well: etcd
// 3.7 does not say which keys go by themselves if it is asked for keys alone.
func (s *storage) survey(ctx context.Context) (count int, written int64, err error) {
	err = s.each(ctx, func(page []*mvccpb.KeyValue) error {
		count += len(page)
		for _, key := range page {
			written = max(written, key.GetModRevision())
		}
		return nil
	})
	return count, written, err
}

// expectSome fails unless there are keys to move.
func (s *storage) expectSome(ctx context.Context) error {
	mark, err := readMark(ctx, s.Client, s.prefix)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.place, s.explain(err))
	}
	if mark != "" {
		return fmt.Errorf("%s has not all objects: a move to it (%s) has not finished; run that one again", s.place, mark)
	}
	count, _, err := s.survey(ctx)
	if err == nil && count == 0 {
		err = fmt.Errorf("%s has nothing to move: no key begins with %s; is --etcd-prefix that of the server?", s.place, s.prefix)
	}
	return err
}

// expectUnchanged fails if anybody has written since there was this number of keys at a revision.
func (s *storage) expectUnchanged(ctx context.Context, count int, revision int64) error {
	now, written, err := s.survey(ctx)
	if err == nil && (now != count || written > revision) {
		err = fmt.Errorf("a server still writes to %s: what it wrote meanwhile has not been moved; stop all replicas, and move again", s.place)
	}
	return err
}

// copyTo copies what there is at a revision, and returns the number of keys.
func (s *storage) copyTo(ctx context.Context, target *storage, revision int64) (count int, err error) {
	err = s.each(ctx, func(page []*mvccpb.KeyValue) error {
		count += len(page)
		for _, batch := range batches(page) {
			if err := target.create(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	}, clientv3.WithRev(revision))
	return count, err
}

// batches divides keys into what fits into a transaction each.
func batches(all []*mvccpb.KeyValue) (divided [][]*mvccpb.KeyValue) {
	var batch []*mvccpb.KeyValue
	size := 0
	for _, one := range all {
		bytes := len(one.Key) + len(one.Value)
		if len(batch) == batchKeys || len(batch) > 0 && size+bytes > batchBytes {
			divided, batch, size = append(divided, batch), nil, 0
		}
		batch, size = append(batch, one), size+bytes
	}
	if len(batch) > 0 {
		divided = append(divided, batch)
	}
	return divided
}
