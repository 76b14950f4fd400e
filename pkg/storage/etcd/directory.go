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
	"strings"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/klog/v2"
)

// firstStartName is an empty file next to the files of etcd, from before etcd makes them until it is ready for the
// first time.
const firstStartName = "first-start"

// storageOf returns the directory of etcd in a data directory.
func storageOf(dataDir string) string { return filepath.Join(dataDir, "etcd") }

// memberOf returns where etcd keeps its files.
func memberOf(etcdDir string) string { return filepath.Join(etcdDir, "member") }

// prepareStorage creates the directory of etcd, and removes files that a killed process has left in it. The caller must
// hold the lock of the data directory.
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
		return fmt.Errorf("cannot write to the data directory: %w", err)
	}
	// It may exist with more rights: Kubernetes gives the group rights to a volume with an fsGroup.
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory of etcd private: %w", err)
	}
	return nil
}

// beginFirstStart removes a storage whose first start never ended. Nothing was stored in it, and etcd may be unable
// to start with it: it mistakes a log without entries for the log of a cluster member, and waits for the other
// members.
func beginFirstStart(logger klog.Logger, etcdDir string) error {
	mark, member := filepath.Join(etcdDir, firstStartName), memberOf(etcdDir)
	switch {
	case !fileutil.Exist(member):
	case fileutil.Exist(mark):
		if last, err := lastRevision(filepath.Join(member, "snap", "db")); err == nil && last > 1 {
			return fmt.Errorf("the storage %s has data, but the file %s marks it as never ready: if you put the data there "+
				"yourself, for example with etcdutl, remove that file", member, mark)
		}
		logger.Info("Beginning again with an empty storage, because its first start was interrupted", "directory", member)
		if err := os.RemoveAll(member); err != nil {
			return fmt.Errorf("removing the storage of an interrupted first start: %w", err)
		}
	default:
		return nil
	}
	if err := os.WriteFile(mark, nil, fileutil.PrivateFileMode); err != nil {
		return err
	}
	return syncDirectory(etcdDir)
}

// finishFirstStart returns before anything is stored so that no later start takes the storage for one that was never
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

// lockFileName is a file in the data directory. The process that uses the directory locks it.
const lockFileName = "lock"

// LockedError is the error of a data directory that another process uses.
type LockedError struct {
	// DataDir is the data directory.
	DataDir string
	// LockFile is the file that the other process has locked.
	LockFile string
	// Holder describes the other process, for example "process 4711 on host a".
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
		return nil, fmt.Errorf("cannot write to data directory %s: %w", dataDir, err)
	}
	return &directoryLock{file: file}, nil
}

// writeHolder writes the process ID and the host into the lock file, for the error of the process that finds it
// locked. The host is needed because several hosts may share the directory, or containers, in which every process ID
// is 1. On a full volume the file stays empty, and the server starts anyway.
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

const (
	socketName = "client.sock"

	// maxSocketPath is the maximum length of the path of a unix socket on all supported systems.
	// sun_path has 104 bytes on BSDs and 108 on Linux, and one of them is the terminating zero.
	maxSocketPath = 103
)

// clientSocket is the unix socket that etcd listens at for its only client, the API server.
type clientSocket struct {
	path string
	// ownDir is a temporary directory for the socket alone, or "" if the socket is in the data
	// directory.
	ownDir string
}

// newClientSocket puts the socket into etcd's directory, or into a short private directory if that
// path is too long.
func newClientSocket(etcdDir string) (*clientSocket, error) {
	path := filepath.Join(etcdDir, socketName)
	if len(path) <= maxSocketPath {
		return &clientSocket{path: path}, nil
	}
	dir, err := os.MkdirTemp("", "etcd-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the socket of etcd (%s is longer than the maximum of %d bytes "+
			"of a socket path): %w",
			path, maxSocketPath, err)
	}
	path = filepath.Join(dir, socketName)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("no place for the socket of etcd: %s and %s are longer than the maximum of %d bytes of a "+
			"socket path; use a data directory or a TMPDIR with a shorter path", filepath.Join(etcdDir,
			socketName), path, maxSocketPath)
	}
	return &clientSocket{path: path, ownDir: dir}, nil
}

func (s *clientSocket) url() url.URL {
	return url.URL{Scheme: "unix", Path: s.path}
}

func (s *clientSocket) remove() error {
	if s.ownDir == "" {
		return nil
	}
	return os.RemoveAll(s.ownDir)
}
