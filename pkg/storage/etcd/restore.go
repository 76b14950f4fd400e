// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// revisionBump is by how much a restore raises the revision, as etcd advises: by more writes than there can have been
// since the snapshot.
const revisionBump = 1_000_000_000

// Restored describes the result of Restore.
type Restored struct {
	// Revision is the revision from which the storage continues. All earlier revisions count as compacted, so existing
	// watches list again.
	Revision int64
	// Former is the new location of the previous storage of the data directory, or "".
	Former string
}

// Restore creates the storage of a data directory from a file with a snapshot, which may be compressed. The revision
// continues above those of the snapshot and of all storages that the data directory has. Restore removes nothing: it
// renames an existing storage.
//
// The restored storage is made in "etcd.restoring" next to the former one. While that directory exists, no server
// starts, and Restore can be run again.
func Restore(path, dataDir string) (restored *Restored, err error) {
	if dataDir, err = filepath.Abs(dataDir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create data directory %s: %w", dataDir, err)
	}
	lock, err := lockDirectory(dataDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	restored = &Restored{}
	if restored.Revision, err = makeRestored(path, dataDir); err != nil {
		err = fmt.Errorf("restoring %s: %w", path, explainVolume(err, dataDir))
		if !fileutil.Exist(storageOf(dataDir)) {
			return nil, err // a server that starts now would begin with an empty storage
		}
		return nil, errors.Join(err, os.RemoveAll(restoringIn(dataDir)))
	}
	if restored.Former, err = setAside(dataDir, time.Now()); err != nil {
		return nil, err
	}
	if err := os.Rename(storageOf(restoringIn(dataDir)), storageOf(dataDir)); err != nil {
		return nil, err // no server starts with what is there
	}
	return restored, errors.Join(os.RemoveAll(restoringIn(dataDir)), syncDirectory(dataDir))
}

func restoringIn(dataDir string) string { return storageOf(dataDir) + ".restoring" }

// refuseUnfinishedRestore returns an error if a restore into a data directory was interrupted.
func refuseUnfinishedRestore(dataDir string) error {
	if restoring := restoringIn(dataDir); fileutil.Exist(restoring) {
		return fmt.Errorf("an incomplete restore left %s: run `metacontroller-apiserver snapshot restore` again", restoring)
	}
	return nil
}

// makeRestored creates a storage in "etcd.restoring", and returns its revision.
func makeRestored(path, dataDir string) (revision int64, err error) {
	restoring := restoringIn(dataDir)
	if err := os.RemoveAll(restoring); err != nil { // of a restore that was interrupted
		return 0, err
	}
	if err := errors.Join(os.Mkdir(restoring, 0o700), syncDirectory(dataDir)); err != nil {
		return 0, err
	}
	plain, err := plainSnapshot(path, restoring)
	if err != nil {
		return 0, err
	}
	info, err := inspect(plain)
	if err != nil {
		return 0, err
	}
	revision = max(info.Revision, lastRevisionIn(dataDir)) + revisionBump
	peer := url.URL{Scheme: "http", Host: peerAddress}
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: plain, OutputDataDir: storageOf(restoring), Name: memberName, PeerURLs: []string{peer.String()},
		InitialCluster: memberName + "=" + peer.String(), InitialClusterToken: embed.NewConfig().InitialClusterToken,
		RevisionBump: uint64(revision - info.Revision), MarkCompacted: true,
	})
	if err != nil {
		return 0, err
	}
	return revision, errors.Join(os.Remove(plain), syncTree(restoring))
}

// setAside renames the storage that a data directory has, and returns its name, or "" if there is none.
func setAside(dataDir string, now time.Time) (former string, err error) {
	storage := storageOf(dataDir)
	if !fileutil.Exist(memberOf(storage)) {
		return "", os.RemoveAll(storage) // of a start that has failed
	}
	former = storage + ".before-" + now.UTC().Format("20060102T150405.000000Z")
	if err := os.Rename(storage, former); err != nil {
		return "", fmt.Errorf("cannot rename the storage %s, which stays in place: %w", storage, err)
	}
	return former, syncDirectory(dataDir)
}

// syncTree makes the names of all files in a directory outlive a loss of power.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDirectory(path)
	})
}

// lastRevisionIn returns the last revision of all storages in a data directory: of the present one, and of those that
// former restores have set aside. It passes over one that cannot be read.
func lastRevisionIn(dataDir string) (last int64) {
	databases, _ := filepath.Glob(filepath.Join(storageOf(dataDir)+"*", "member", "snap", "db")) // the pattern is valid
	for _, database := range databases {
		if revision, err := lastRevision(database); err == nil {
			last = max(last, revision)
		}
	}
	return last
}

// lastRevision returns the revision of the last write in the file of a database, or of the last compaction: that one
// may have removed a later deletion. No etcd may have the file open. It returns an error if the file cannot be read.
func lastRevision(database string) (revision int64, err error) {
	// If pages are damaged, bbolt panics or reads beyond the end of the file.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s is damaged: %v", database, reason)
		}
	}()
	db, err := bbolt.Open(database, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", database, err)
	}
	defer func() { _ = db.Close() }()
	err = db.View(func(tx *bbolt.Tx) error {
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
