// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"
)

// firstSegment is the name of the first file of the log.
const firstSegment = "0000000000000000-0000000000000000.wal"

// removeUnborn removes a storage whose first start was killed after its log was made and before the log had an entry. Nothing was
// ever stored in it. Etcd would take it for a storage that has members, and wait for them forever. The directory must be locked.
func removeUnborn(logger klog.Logger, etcdDir string) error {
	member := filepath.Join(etcdDir, "member")
	segments, err := filepath.Glob(filepath.Join(member, "wal", "*.wal"))
	if err != nil || len(segments) != 1 || filepath.Base(segments[0]) != firstSegment {
		return err
	}
	if logged, err := hasEntries(segments[0]); err != nil || logged {
		return err
	}
	if hasApplied(filepath.Join(member, "snap", "db")) {
		return nil // the log is damaged, which etcd explains
	}
	if err := os.RemoveAll(member); err != nil {
		return fmt.Errorf("removing an empty storage that a killed process left behind: %w", err)
	}
	logger.Info("Removed an empty storage, whose first start was killed", "directory", member)
	return nil
}

// hasEntries reports whether a segment of the log has more than its head. It returns true if the log cannot be read: etcd
// repairs it, or says what is wrong.
func hasEntries(segment string) (logged bool, err error) {
	file, err := os.Open(segment)
	if err != nil {
		return false, fmt.Errorf("the log cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	decoder := wal.NewDecoder(fileutil.NewFileReader(file))
	for {
		var record walpb.Record
		switch err := decoder.Decode(&record); {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return true, nil
		}
		switch record.GetType() {
		case wal.CrcType:
			decoder.UpdateCRC(record.GetCrc())
		case wal.MetadataType:
		case wal.SnapshotType: // each new log has one of index 0
			var snapshot walpb.Snapshot
			if err := proto.Unmarshal(record.Data, &snapshot); err != nil || snapshot.GetIndex() != 0 {
				return true, nil
			}
		default:
			return true, nil
		}
	}
}

// hasApplied reports whether a database has ever applied an entry of a log. It returns true if the database cannot be read: etcd
// says what is wrong.
func hasApplied(database string) bool {
	if !fileutil.Exist(database) {
		return false
	}
	applied := false
	err := viewDatabase(database, func(tx *bbolt.Tx) error {
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			index := meta.Get(schema.MetaConsistentIndexKeyName)
			applied = len(index) == 8 && binary.BigEndian.Uint64(index) != 0
		}
		return nil
	})
	return applied || err != nil
}
