// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// movedFile is a file in the data directory. It says where its storage was moved to, so that nobody goes on with
// the old one by mistake.
const movedFile = "moved"

// movedTime is between the place and the time in that file.
const movedTime = ", at "

// MarkMoved has no server start with the storage of a data directory any more, which is somewhere else now.
func MarkMoved(dataDir, to string) error {
	// Nobody needs the reserve any more, and on a full volume there is no room for the file without it.
	if err := newReserve(dataDir, 0).giveBack(); err != nil {
		return err
	}
	text := to + movedTime + time.Now().UTC().Format(time.RFC3339) + "\n"
	if err := os.WriteFile(filepath.Join(dataDir, movedFile), []byte(text), 0o600); err != nil {
		return err
	}
	return syncDirectory(dataDir)
}

// IsMoved reports whether a data directory is marked as moved to a place.
func IsMoved(dataDir, to string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, movedFile))
	return err == nil && strings.HasPrefix(string(text), to+movedTime), ignoreMissing(err)
}

// UnmarkMoved undoes MarkMoved.
func UnmarkMoved(dataDir string) error {
	if err := ignoreMissing(os.Remove(filepath.Join(dataDir, movedFile))); err != nil {
		return err
	}
	return syncDirectory(dataDir)
}

// refuseMoved returns an error if the storage of a data directory is not the one to use: because it was moved away,
// or because not all of it has come yet.
func refuseMoved(dataDir string) error {
	if path := filepath.Join(dataDir, arriving); fileutil.Exist(path) {
		return fmt.Errorf("the objects are being moved into this data directory, and that has not finished: "+
			"run `metacontroller-apiserver storage move` again, which begins anew; to do without them, remove %s", path)
	}
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
