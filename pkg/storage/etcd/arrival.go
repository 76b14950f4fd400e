// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/klog/v2"
)

// arriving is a directory in a data directory that objects are being moved into. No server starts while it is there.
// It is a data directory itself: the storage is made in it, and takes its place when it is whole.
const arriving = "etcd.moving"

// Arrival is a data directory that objects are being moved into, and a server that takes them.
type Arrival struct {
	*Server

	dataDir, making string
	lock            *directoryLock
	release         func() error
}

// Receive begins to move objects into a data directory that has no storage, or what an unfinished move has left. It
// is locked until Finish or Close. The storage is empty at first, and its revisions begin above another one.
func Receive(ctx context.Context, dataDir string, above int64) (*Arrival, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", dataDir, err)
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory %s cannot be made: %w", dataDir, err)
	}
	a := &Arrival{dataDir: dataDir, making: filepath.Join(dataDir, arriving)}
	if a.lock, err = lockDirectory(dataDir); err != nil {
		return nil, err
	}
	a.release = sync.OnceValue(a.lock.release)
	if err := a.begin(ctx, above); err != nil {
		return nil, errors.Join(err, a.release())
	}
	return a, nil
}

func (a *Arrival) begin(ctx context.Context, above int64) (err error) {
	if err := a.lock.writeHolder(); err != nil {
		return err
	}
	if err := settleRestore(klog.FromContext(ctx), a.dataDir); err != nil {
		return err
	}
	if err := a.clear(); err != nil {
		return err
	}
	if err := makePrivate(a.making); err != nil {
		return err
	}
	if err := syncDirectory(a.dataDir); err != nil {
		return err
	}
	if err := makeEmpty(ctx, a.making, above); err != nil {
		return fmt.Errorf("making an empty storage in %s: %w", a.making, err)
	}
	a.Server, err = Start(ctx, Config{DataDir: a.making})
	return err
}

// clear removes what an unfinished move has left, but for the mark of it.
func (a *Arrival) clear() error {
	storage := storageOf(a.dataDir)
	if fileutil.Exist(storage) && !fileutil.DirEmpty(storage) && !a.inPlace() {
		return fmt.Errorf("data directory %s has a storage already, %s: use a data directory without one", a.dataDir, storage)
	}
	if err := os.RemoveAll(storage); err != nil {
		return err
	}
	left, err := os.ReadDir(a.making)
	if ignoreMissing(err) != nil {
		return err
	}
	for _, entry := range left {
		if err := os.RemoveAll(filepath.Join(a.making, entry.Name())); err != nil {
			return fmt.Errorf("removing what an unfinished move has left: %w", err)
		}
	}
	return nil
}

// inPlace reports whether a move has put its storage into its place, and was ended before it removed its mark. No
// server has used that storage.
func (a *Arrival) inPlace() bool {
	return fileutil.Exist(a.making) && !fileutil.Exist(storageOf(a.making))
}

// Finish stops the server, and has others start with the storage.
func (a *Arrival) Finish() error {
	if err := a.Server.Close(); err != nil {
		return err
	}
	err := errors.Join(os.Rename(storageOf(a.making), storageOf(a.dataDir)), syncDirectory(a.dataDir))
	if err == nil {
		err = errors.Join(UnmarkMoved(a.dataDir), os.RemoveAll(a.making), syncDirectory(a.dataDir))
	}
	return errors.Join(err, a.release())
}

// Close stops the server. If the move has not finished, no other one starts with the data directory.
func (a *Arrival) Close() error {
	return errors.Join(a.Server.Close(), a.release())
}

// makeEmpty makes an empty storage in a data directory. Its revisions begin above another one.
func makeEmpty(ctx context.Context, dataDir string, above int64) error {
	beside := filepath.Join(dataDir, "empty")
	if err := makePrivate(beside); err != nil {
		return err
	}
	snapshot, err := emptySnapshot(ctx, beside)
	if err != nil {
		return err
	}
	info, err := InspectSnapshot(snapshot)
	if err != nil {
		return err
	}
	begin := max(info.Revision, above) + 1
	if err := restoreInto(storageOf(dataDir), snapshot, uint64(begin-info.Revision)); err != nil {
		return err
	}
	return os.RemoveAll(beside)
}

func emptySnapshot(ctx context.Context, dir string) (path string, err error) {
	server, err := Start(ctx, Config{DataDir: filepath.Join(dir, "data")})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	file, err := os.Create(filepath.Join(dir, "snapshot"))
	if err != nil {
		return "", err
	}
	snapshot, err := server.Snapshot(ctx)
	if err != nil {
		return "", errors.Join(err, file.Close())
	}
	_, err = snapshot.WriteTo(file)
	return file.Name(), errors.Join(err, snapshot.Close(), file.Close())
}

func storageOf(dataDir string) string { return filepath.Join(dataDir, "etcd") }
