// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errOthers is the error of a write that finds the mark of another move, or a key that this move has not written.
var errOthers = errors.New("somebody else writes there too: stop all servers that use it and all other moves to it, and move again")

// create writes keys that must not be there.
func (s *storage) create(ctx context.Context, keys []*mvccpb.KeyValue) error {
	conditions, writes := []clientv3.Cmp{s.isMarked()}, []clientv3.Op(nil)
	for _, one := range keys {
		key := string(one.Key)
		conditions = append(conditions, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		writes = append(writes, clientv3.OpPut(key, string(one.Value)))
	}
	_, err := s.writeIf(ctx, conditions, writes...)
	return err
}

// write writes if the mark is that of this move.
func (s *storage) write(ctx context.Context, writes ...clientv3.Op) (revision int64, err error) {
	return s.writeIf(ctx, []clientv3.Cmp{s.isMarked()}, writes...)
}

func (s *storage) isMarked() clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(markKey(s.prefix)), "=", s.mark)
}

func (s *storage) writeIf(ctx context.Context, conditions []clientv3.Cmp, writes ...clientv3.Op) (revision int64, err error) {
	answer, err := s.Txn(ctx).If(conditions...).Then(writes...).Commit()
	if err != nil {
		return 0, fmt.Errorf("write to %s: %w", s.place, s.explain(err))
	}
	if !answer.Succeeded {
		return 0, fmt.Errorf("write to %s: %w", s.place, errOthers)
	}
	return answer.Header.GetRevision(), nil
}

// explain adds to an error what can be done about it.
func (s *storage) explain(err error) error {
	if errors.Is(err, rpctypes.ErrPermissionDenied) {
		return fmt.Errorf("%w: the user of this etcd needs the right to read and write all keys that begin with %s", err, s.prefix)
	}
	return err
}
