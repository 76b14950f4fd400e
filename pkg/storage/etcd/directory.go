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

// firstStartName is an empty file beside the files of etcd, from before etcd makes them until it is ready for the first
// time.
const firstStartName = "first-start"

// storageOf returns the directory of etcd in a data directory.
func storageOf(dataDir string) string { return filepath.Join(dataDir, "etcd") }

// memberOf returns where etcd keeps its files.
func memberOf(etcdDir string) string { return filepath.Join(etcdDir, "member") }

// prepareStorage makes the directory of etcd, and removes what a process that was killed has left in it. The data
// directory must be locked.
func prepareStorage(logger klog.Logger, etcdDir string) error {
	if err := makePrivate(etcdDir); err != nil {
		return err
	}
	if err := beginFirstStart(logger, etcdDir); err != nil {
		return err
	}
	// A copy of the database that a defragmentation was writing. etcd never removes it.
	copies, err := filepath.Glob(filepath.Join(memberOf(etcdDir), "snap", "db.tmp*"))
	for _, path := range copies {
		err = errors.Join(err, ignoreMissing(os.Remove(path)))
	}
	return err
}

// makePrivate creates a directory that only its owner can enter. A process that can enter it can
// read and write the storage.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory cannot be written: %w", err)
	}
	// It may exist with more rights: Kubernetes gives the group rights to a volume with an fsGroup.
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("directory of etcd cannot be made private: %w", err)
	}
	return nil
}

// beginFirstStart removes a storage whose first start never ended. Nothing was stored in it, and etcd may be unable to
// start with it: it takes a log without entries for that of a member of a cluster, and waits for the others.
func beginFirstStart(logger klog.Logger, etcdDir string) error {
	mark, member := filepath.Join(etcdDir, firstStartName), memberOf(etcdDir)
	switch {
	case !fileutil.Exist(member):
	case fileutil.Exist(mark):
		if last, err := lastRevision(filepath.Join(member, "snap", "db")); err == nil && last > 1 {
			return fmt.Errorf("the storage %s has data, and %s says that it never was ready: if the data was put there "+
				"by hand, as by etcdutl, remove that file", member, mark)
		}
		logger.Info("Beginning again with an empty storage, because its first start was interrupted", "directory", member)
		if err := os.RemoveAll(member); err != nil {
			return fmt.Errorf("removing a storage whose first start was interrupted: %w", err)
		}
	default:
		return nil
	}
	if err := os.WriteFile(mark, nil, fileutil.PrivateFileMode); err != nil {
		return err
	}
	return syncDirectory(etcdDir)
}

// finishFirstStart returns before anything is stored, so that no later start takes the storage for one that was never
// ready.
func finishFirstStart(etcdDir string) error {
	err := os.Remove(filepath.Join(etcdDir, firstStartName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, syncDirectory(etcdDir))
}

// syncDirectory makes the names of the files in a directory outlive a loss of power.
func syncDirectory(path string) error {
	dir, err := fileutil.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
