// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// lockFileName is the file inside the data directory whose lock says that a process uses the directory.
const lockFileName = "lock"

// A LockedError says that another process uses the data directory.
type LockedError struct {
	// DataDir is the directory both processes want.
	DataDir string
	// LockFile is the file whose lock the other process holds.
	LockFile string
	// Holder is what the other process wrote about itself, such as "process 4711 on host a".
	Holder string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("data directory %s is in use: lock file %s is held by %s; "+
		"stop that process or use another data directory", e.DataDir, e.LockFile, e.Holder)
}

// directoryLock is an exclusive claim to a data directory. The kernel drops it when the process ends, however it ends.
type directoryLock struct {
	file *fileutil.LockedFile
}

// lockDirectory claims the data directory or fails at once. etcd's own lock, on its database file, waits for ever and
// does not say for whom, so ours is taken first.
func lockDirectory(dataDir string) (*directoryLock, error) {
	path := filepath.Join(dataDir, lockFileName)
	file, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, &LockedError{DataDir: dataDir, LockFile: path, Holder: readHolder(path)}
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s cannot be written: %w", dataDir, err)
	}
	lock := &directoryLock{file: file}
	if err := lock.writeHolder(); err != nil {
		return nil, errors.Join(fmt.Errorf("writing lock file %s: %w", path, err), lock.release())
	}
	return lock, nil
}

// writeHolder leaves the process ID, for whoever finds the lock taken, and the host, because several hosts (or
// containers, where every process ID is 1) may share the directory.
func (l *directoryLock) writeHolder() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), host), 0); err != nil {
		return err
	}
	return l.file.Sync()
}

// release gives the directory free. The file stays: removing it would let two processes lock two files of one name.
func (l *directoryLock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

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
