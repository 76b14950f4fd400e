// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// movedFile is a file in the data directory. It says where its storage was moved to, so that nobody goes on with
// the old one by mistake.
const movedFile = "moved"

// MarkMoved has no server start with the storage of a data directory any more, which is somewhere else now.
func MarkMoved(dataDir, to string) error {
	text := fmt.Sprintf("%s, at %s\n", to, time.Now().UTC().Format(time.RFC3339))
	if err := os.WriteFile(filepath.Join(dataDir, movedFile), []byte(text), 0o600); err != nil {
		return err
	}
	return syncDirectory(dataDir)
}

func refuseMoved(dataDir string) error {
	path := filepath.Join(dataDir, movedFile)
	to, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("the storage was moved to %s: use that one; to go back to the old one and lose what was written since, remove %s",
		strings.TrimSpace(string(to)), path)
}

// Prepare makes an empty storage in a data directory that has none. Its revisions begin above another one.
func Prepare(ctx context.Context, dataDir string, above int64) error {
	dir, err := os.MkdirTemp("", "empty") // a short path, for the socket
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	snapshot, err := emptySnapshot(ctx, dir)
	if err != nil {
		return err
	}
	_, err = restore(snapshot, dataDir, false, func(last int64) int64 { return max(last, above) + 1 })
	return err
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
	snapshot := server.Snapshot()
	_, err = snapshot.WriteTo(file)
	return file.Name(), errors.Join(err, snapshot.Close(), file.Close())
}
