// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// SnapshotInfo is what a file with a snapshot has.
type SnapshotInfo struct {
	// Revision is that of the last write in it.
	Revision int64 `json:"revision"`
	// Keys is the number of keys: the objects, and a few of the API server itself.
	Keys int `json:"keys"`
	// Size is that of the database, in bytes.
	Size int64 `json:"size"`
	// Version is the version of etcd whose storage format it has, such as "3.6.0". A new storage has none in its
	// first second.
	Version string `json:"version,omitempty"`
}

// InspectSnapshot reads a file with a snapshot, and returns an error if it is damaged.
func InspectSnapshot(path string) (*SnapshotInfo, error) {
	if err := verifyFile(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	status, err := snapshot.NewV3(zap.NewNop()).Status(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &SnapshotInfo{Revision: status.Revision, Keys: status.TotalKey, Size: status.TotalSize, Version: status.Version}, nil
}

func verifyFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	checksum := NewChecksum()
	if _, err := io.Copy(checksum, file); err != nil {
		return err
	}
	return checksum.Verify()
}

// Restore makes the storage of a data directory from a file with a snapshot. If the directory has one, that is
// deleted once the new one is whole, or Restore fails if it is not to replace it. It returns the revision with which
// the storage goes on. All earlier ones count as compacted, so that watches from before are told to list again.
func Restore(path, dataDir string, replace bool) (revision int64, err error) {
	return restore(path, dataDir, replace, func(last int64) int64 { return restoredRevision(last, time.Now()) })
}

// restore is Restore with a revision that follows from the last one of the snapshot and of the storage that it replaces.
func restore(path, dataDir string, replace bool, revisionAfter func(last int64) int64) (revision int64, err error) {
	info, err := InspectSnapshot(path)
	if err != nil {
		return 0, err
	}
	if dataDir, err = filepath.Abs(dataDir); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return 0, fmt.Errorf("data directory %s cannot be made: %w", dataDir, err)
	}
	lock, err := lockDirectory(dataDir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	swap := swapIn(dataDir)
	if _, err := swap.resume(); err != nil {
		return 0, err
	}
	if !replace && fileutil.Exist(swap.storage) && !fileutil.DirEmpty(swap.storage) {
		return 0, fmt.Errorf("data directory %s has a storage already: move %s away, or have it replaced", dataDir, swap.storage)
	}
	last := info.Revision
	for _, database := range []string{path, filepath.Join(swap.storage, "member", "snap", "db")} {
		if revision, err := lastRevision(database); err == nil { // a storage that cannot be read is replaced, too
			last = max(last, revision)
		}
	}
	revision = revisionAfter(last)
	if err := restoreInto(swap.restoring, path, uint64(revision-info.Revision)); err != nil {
		return 0, errors.Join(fmt.Errorf("restoring %s into %s: %w", path, swap.restoring, err), os.RemoveAll(swap.restoring))
	}
	return revision, swap.run()
}

func restoreInto(dir, path string, bump uint64) error {
	if err := os.RemoveAll(dir); err != nil { // of a restore that was killed
		return err
	}
	useSegmentSize()
	peer := url.URL{Scheme: "http", Host: peerAddress}
	err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: path, OutputDataDir: dir, Name: memberName, PeerURLs: []string{peer.String()},
		InitialCluster: memberName + "=" + peer.String(), InitialClusterToken: embed.NewConfig().InitialClusterToken,
		RevisionBump: bump, MarkCompacted: true,
	})
	if err != nil {
		return err
	}
	return syncTree(dir)
}
