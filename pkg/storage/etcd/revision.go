// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// leastBump is by how much revisions rise if the clock is behind them.
const leastBump = 1_000_000_000

// restoredRevision returns the revision that a restored storage begins with: the time in microseconds. No
// client has seen that one, or a later one, as long as there was less than one write a microsecond: not from the
// storage that was lost, and not from one that was restored before, of the same snapshot or of another one. If
// the clock is behind the last known revision, it is well above that one instead.
func restoredRevision(last int64, now time.Time) int64 {
	if now := now.UnixMicro(); now > last {
		return now
	}
	return last + leastBump
}

// lastRevision returns the revision of the last write in the file of a database, or of the last compaction: that one
// may have removed a later deletion. It returns an error if the file cannot be read.
func lastRevision(database string) (revision int64, err error) {
	err = viewDatabase(database, func(tx *bbolt.Tx) error {
		var stored [][]byte
		if keys := tx.Bucket(schema.Key.Name()); keys != nil {
			last, _ := keys.Cursor().Last()
			stored = append(stored, last)
		}
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			stored = append(stored, meta.Get(schema.ScheduledCompactKeyName))
		}
		for _, bytes := range stored {
			if bytes != nil {
				revision = max(revision, mvcc.BytesToRev(bytes).Main)
			}
		}
		return nil
	})
	return revision, err
}
