// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// explain adds to an error of the storage what can be done about it.
func explain(err error, dataDir string) error {
	if damaged(err) {
		return fmt.Errorf("%w; the data in %s is damaged: restore a snapshot by metacontroller-apiserver snapshot restore --data-dir %s", err, storageOf(dataDir), dataDir)
	}
	return explainVolume(err, dataDir)
}

// explainVolume adds to an error of a file what can be done about its volume.
func explainVolume(err error, dataDir string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; the volume is read-only, and must be writable: mount it read-write, "+
			"or repair its file system if the system has made it read-only after an error", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; the volume must be writable for user %d and group %d, as which this process runs: "+
			"set fsGroup in the Pod's securityContext, or, where the provisioner ignores that (volumes of host paths), "+
			"change the owner of the folder on its node: chown -R %[2]d:%[3]d", err, os.Getuid(), os.Getgid())
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; the volume of %s is full%s: enlarge it", err, dataDir, spaceText(dataDir))
	}
	return err
}

func spaceText(dataDir string) string {
	space, err := measureVolume(dataDir)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%s of %s left)", sizeText(space.available), sizeText(space.size))
}

// damaged reports whether an error says that the log or the database cannot be read.
func damaged(err error) bool {
	return slices.ContainsFunc([]error{
		wal.ErrCRCMismatch, wal.ErrFileNotFound, wal.ErrMetadataConflict, wal.ErrSliceOutOfRange, wal.ErrSnapshotMismatch,
		wal.ErrSnapshotNotFound, io.ErrUnexpectedEOF, bolterrors.ErrChecksum, bolterrors.ErrInvalid, bolterrors.ErrVersionMismatch,
	}, func(sign error) bool { return errors.Is(err, sign) })
}
