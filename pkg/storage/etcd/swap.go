// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/klog/v2"
)

// swap puts a restored storage in the place of the one that a data directory has, so that at every moment one of
// them is whole. A restored storage is made in "etcd.restoring". When it is whole, the old one is renamed to
// "etcd.replaced", and then the restored one to "etcd". An empty "etcd.replaced" is made if there is no old one.
// So "etcd.replaced" is the sign that the restored storage is whole, and goes last. The directory must be locked.
type swap struct {
	dataDir, storage, restoring, replaced string
}

func swapIn(dataDir string) swap {
	storage := storageOf(dataDir)
	return swap{dataDir: dataDir, storage: storage, restoring: storage + ".restoring", replaced: storage + ".replaced"}
}

// run makes a whole storage in "etcd.restoring" the one of the data directory.
func (s swap) run() error {
	if err := s.setAside(); err != nil {
		return fmt.Errorf("the storage %s stays, since it cannot be renamed: %w", s.storage, err)
	}
	return s.finish()
}

// setAside takes the old storage away.
func (s swap) setAside() error {
	err := os.Rename(s.storage, s.replaced)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(s.replaced, 0o700)
	}
	return errors.Join(err, syncDirectory(s.dataDir))
}

// finish puts the restored storage in its place, if it is not there yet, and removes the old one.
func (s swap) finish() error {
	if !hasStorage(s.storage) {
		if err := os.Rename(s.restoring, s.storage); err != nil {
			return fmt.Errorf("the storage in %s is restored, but cannot be renamed: %w; the next start of the server, or restore, "+
				"tries that again", s.restoring, err)
		}
	}
	// What was moved away, or has not come whole, is replaced, too.
	err := errors.Join(
		syncDirectory(s.dataDir), ignoreMissing(os.Remove(filepath.Join(s.dataDir, movedFile))), os.RemoveAll(filepath.Join(s.dataDir, arriving)))
	if err == nil {
		err = os.RemoveAll(s.replaced)
	}
	if err != nil {
		return fmt.Errorf("the storage is restored, but what it replaces cannot be removed: %w; the next start of the server, or "+
			"restore, tries that again", err)
	}
	return syncDirectory(s.dataDir)
}

// resume finishes a swap that was interrupted, and reports whether there was one.
func (s swap) resume() (resumed bool, err error) {
	if !fileutil.Exist(s.replaced) {
		return false, nil
	}
	if !hasStorage(s.storage) && !hasStorage(s.restoring) {
		return false, fmt.Errorf("%s has the storage that a restore has replaced, and the restored one is gone: rename %[1]s to %s to "+
			"go back to it, or remove it to do without", s.replaced, s.storage)
	}
	return true, s.finish()
}

// settleRestore ends a restore that was interrupted, so that a server can start: with the restored storage if that was
// whole, with the old one otherwise. It returns an error if there is neither.
func settleRestore(logger klog.Logger, dataDir string) error {
	s := swapIn(dataDir)
	resumed, err := s.resume()
	if err != nil {
		return err
	}
	if resumed {
		logger.Info("Finished a restore that was interrupted", "directory", s.storage)
	}
	if !fileutil.Exist(s.restoring) {
		return nil
	}
	if !hasStorage(s.storage) {
		return fmt.Errorf("a restore into %s has not finished: run it again, or remove %s to begin with an empty storage", dataDir, s.restoring)
	}
	if err := os.RemoveAll(s.restoring); err != nil {
		return fmt.Errorf("removing what an interrupted restore left behind: %w", err)
	}
	logger.Info("Removed what an interrupted restore left behind, and kept the storage that it was to replace", "directory", s.restoring)
	return nil
}

// HasStorage reports whether a data directory has a storage.
func HasStorage(dataDir string) bool { return hasStorage(storageOf(dataDir)) }

// hasStorage reports whether a directory has the files of an etcd, which may be damaged. A server that fails at its first start
// may leave the directory without them.
func hasStorage(etcdDir string) bool {
	return fileutil.Exist(filepath.Join(etcdDir, "member"))
}

// syncTree has the names of all files in a directory outlive a loss of power.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDirectory(path)
	})
}

func syncDirectory(path string) error {
	dir, err := fileutil.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
