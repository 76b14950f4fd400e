// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

const (
	// mostRaises is by how much the revisions of an etcd are raised at most. Each is a write; a million take
	// some minutes.
	mostRaises = 2_000_000
	// raisers is how many of these writes are under way at once.
	raisers = 100

	// pageKeys is how many keys are read at once.
	pageKeys = 500
	// batchKeys and batchBytes bound a transaction. etcd takes 128 operations, and 1.5 MiB.
	batchKeys, batchBytes = 100, 1 << 20
)

// Moved is what was moved.
type Moved struct {
	Keys int
	// From and To are the revisions of the storages afterwards.
	From, To int64
}

// Move copies all keys with a prefix from one place to another one, where there must be none. A data directory
// that they were moved from cannot be used by mistake afterwards; keys in an etcd stay as they were. If it fails,
// both are as before, but for what was copied already.
func Move(ctx context.Context, from, to Place, prefix string) (moved *Moved, err error) {
	prefix = strings.TrimSuffix(prefix, "/") + "/"
	source, err := from.open(ctx)
	if err != nil {
		return nil, err
	}
	closeSource := sync.OnceValue(source.close)
	defer func() { err = errors.Join(err, closeSource()) }()
	moved = &Moved{}
	if moved.From, err = source.revision(ctx); err != nil {
		return nil, err
	}
	if to.DataDir != "" {
		if err := etcd.Prepare(ctx, to.DataDir, moved.From); err != nil {
			return nil, err
		}
	}
	target, err := to.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := target.expectNone(ctx, prefix); err != nil {
		return nil, err
	}
	if err := target.raise(ctx, prefix, moved.From); err != nil {
		return nil, err
	}
	if moved.Keys, err = source.copyTo(ctx, target, prefix, moved.From); err != nil {
		return nil, err
	}
	if moved.To, err = target.forget(ctx); err != nil {
		return nil, err
	}
	if from.DataDir == "" {
		return moved, nil
	}
	if err := closeSource(); err != nil {
		return nil, err
	}
	return moved, etcd.MarkMoved(from.DataDir, to.String())
}

func (s *storage) expectNone(ctx context.Context, prefix string) error {
	found, err := s.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("read %s: %w", s.place, err)
	}
	if len(found.Kvs) > 0 {
		return fmt.Errorf("%s has keys already, such as %s: delete all that begin with %s if they are left of an earlier move, or use another --etcd-prefix",
			s.place, found.Kvs[0].Key, prefix)
	}
	return nil
}

// raise writes until the revision is above another one.
func (s *storage) raise(ctx context.Context, prefix string, above int64) error {
	now, err := s.revision(ctx)
	if err != nil {
		return err
	}
	if now > above {
		return nil
	}
	if above-now > mostRaises {
		return fmt.Errorf("resource versions are at %d, and those of %s at %d, which is too far behind to be raised: make that etcd from a snapshot instead, "+
			"by `metacontroller-apiserver snapshot save` and `etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`", above, s.place, now)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	key := prefix + "moving"
	var isAbove atomic.Bool
	var writing sync.WaitGroup
	for range raisers {
		writing.Go(func() {
			for !isAbove.Load() && ctx.Err() == nil {
				answer, err := s.Put(ctx, key, "")
				if err != nil {
					cancel(fmt.Errorf("raise the revisions of %s: %w", s.place, err))
					return
				}
				if answer.Header.GetRevision() > above {
					isAbove.Store(true)
				}
			}
		})
	}
	writing.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	_, err = s.Delete(ctx, key)
	return err
}

// copyTo copies what there is at a revision, and returns the number of keys. Keys that would go by
// themselves are left out: they are no objects.
func (s *storage) copyTo(ctx context.Context, target *storage, prefix string, revision int64) (count int, err error) {
	end := clientv3.GetPrefixRangeEnd(prefix)
	for next := prefix; ; {
		page, err := s.Get(ctx, next, clientv3.WithRange(end), clientv3.WithLimit(pageKeys), clientv3.WithRev(revision))
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", s.place, err)
		}
		lasting := slices.DeleteFunc(slices.Clone(page.Kvs), func(key *mvccpb.KeyValue) bool { return key.GetLease() != 0 })
		for _, batch := range batches(lasting) {
			if err := target.create(ctx, batch); err != nil {
				return 0, err
			}
		}
		count += len(lasting)
		if !page.More {
			return count, nil
		}
		next = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
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

// create writes keys that must not be there.
func (s *storage) create(ctx context.Context, batch []*mvccpb.KeyValue) error {
	var none []clientv3.Cmp
	var puts []clientv3.Op
	for _, one := range batch {
		key := string(one.Key)
		none = append(none, clientv3.Compare(clientv3.ModRevision(key), "=", 0))
		puts = append(puts, clientv3.OpPut(key, string(one.Value)))
	}
	answer, err := s.Txn(ctx).If(none...).Then(puts...).Commit()
	if err != nil {
		return fmt.Errorf("write to %s: %w", s.place, err)
	}
	if !answer.Succeeded {
		return fmt.Errorf("write to %s: somebody else writes there: %s is there already, or another key after it", s.place, batch[0].Key)
	}
	return nil
}

// forget has all revisions until now count as compacted, so that whoever watches from one of them is told to list.
// It returns the present one.
func (s *storage) forget(ctx context.Context) (int64, error) {
	revision, err := s.revision(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := s.Compact(ctx, revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return 0, fmt.Errorf("compact %s: %w", s.place, err)
	}
	return revision, nil
}
