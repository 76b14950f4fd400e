// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// mostRaises is by how much the revisions of an etcd are raised at most. Each is a write; a million take
	// some minutes.
	mostRaises = 2_000_000
	// raisers is how many of these writes are under way at once.
	raisers = 100
)

// expectNear fails unless the revision can be raised above another one.
func (s *storage) expectNear(ctx context.Context, above int64) error {
	now, err := s.revision(ctx)
	if err != nil {
		return err
	}
	if above-now > mostRaises {
		return fmt.Errorf("resource versions are at %d, and those of %s at %d, which is too far behind to be raised: "+
			"make that etcd from a snapshot instead, by `metacontroller-apiserver snapshot save` and "+
			"`etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`", above, s.place, now)
	}
	return nil
}

// raise writes the mark until the revision is above another one.
func (s *storage) raise(ctx context.Context, above int64) error {
	now, err := s.revision(ctx)
	if err != nil || now > above {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var isAbove atomic.Bool
	var writing sync.WaitGroup
	for range raisers {
		writing.Go(func() {
			for !isAbove.Load() && ctx.Err() == nil {
				revision, err := s.write(ctx, clientv3.OpPut(markKey(s.prefix), s.mark))
				if err != nil {
					cancel(fmt.Errorf("raise the revisions: %w", err))
					return
				}
				if revision > above {
					isAbove.Store(true)
				}
			}
		})
	}
	writing.Wait()
	return context.Cause(ctx)
}

// expectMayForget fails if forget would fail for want of a right.
func (s *storage) expectMayForget(ctx context.Context) error {
	return s.compact(ctx, 1) // before which there is nothing
}

// forget has all revisions before the present one count as compacted, so that whoever watches from one of them is
// told to list.
func (s *storage) forget(ctx context.Context) error {
	revision, err := s.revision(ctx)
	if err != nil {
		return err
	}
	return s.compact(ctx, revision)
}

func (s *storage) compact(ctx context.Context, revision int64) error {
	switch _, err := s.Compact(ctx, revision); {
	case err == nil, errors.Is(err, rpctypes.ErrCompacted):
		return nil
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("compact %s: %w: the user of this etcd needs the role root for the move", s.place, err)
	default:
		return fmt.Errorf("compact %s: %w", s.place, err)
	}
}
