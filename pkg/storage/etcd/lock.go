// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// lockFileName is a file in the data directory. The process that uses the directory locks it.
const lockFileName = "lock"

// LockedError is the error of a data directory that another process uses.
type LockedError struct {
	// DataDir is the data directory.
	DataDir string
	// LockFile is the file that the other process has locked.
	LockFile string
	// Holder describes the other process, for instance "process 4711 on host a".
	Holder string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("data directory %s is in use: lock file %s is held by %s; "+
		"stop that process or use another data directory", e.DataDir, e.LockFile, e.Holder)
}

// directoryLock is the exclusive lock of a data directory. The kernel releases it when the process
// ends, however it ends.
type directoryLock struct {
	file *fileutil.LockedFile
}

// lockDirectory locks the data directory or fails at once. It comes before etcd's own lock, on the
// database file, which waits without a limit and without naming the holder.
func lockDirectory(dataDir string) (*directoryLock, error) {
	path := filepath.Join(dataDir, lockFileName)
	file, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, &LockedError{DataDir: dataDir, LockFile: path, Holder: readHolder(path)}
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s cannot be written: %w", dataDir, err)
	}
	return &directoryLock{file: file}, nil
}

// writeHolder writes the process ID and the host into the lock file, for the error of the process
// that finds it locked. The host is needed because several hosts may share the directory, or
// containers, where every process ID is 1. On a full volume the file stays empty: that is no reason
// not to start.
func (l *directoryLock) writeHolder() error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("writing lock file %s: %w", l.file.Name(), err)
	}
	err = l.file.Truncate(0)
	if err == nil {
		_, err = l.file.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), host), 0)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("writing lock file %s: %w", l.file.Name(), err)
	}
	return nil
}

// release unlocks the directory. It keeps the file: if it were removed, two processes could lock
// two files of the same name.
func (l *directoryLock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// readHolder returns the description of the process that has locked the file.
func readHolder(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "an unknown process"
	}
	switch fields := strings.Fields(string(content)); len(fields) {
	case 0:
		return "a process that has not written its ID yet"
	case 1:
		return "process " + fields[0]
	default:
		return fmt.Sprintf("process %s on host %s", fields[0], fields[1])
	}
}
