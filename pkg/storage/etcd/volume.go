// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// blockBytes is the unit in which stat counts the blocks of a file, on all systems.
const blockBytes = 512

// volumeSpace is the space of a file system, in bytes.
type volumeSpace struct {
	// What only root may use is left out of both.
	size, available int64
}

// measureVolume returns the space of the file system that a directory is on.
func measureVolume(dir string) (volumeSpace, error) {
	var stat unix.Statfs_t
	for {
		err := unix.Statfs(dir, &stat)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return volumeSpace{}, fmt.Errorf("measuring the volume of %s: %w", dir, err)
		}
		block := int64(stat.Bsize)
		blocks, free, available := int64(stat.Blocks), int64(stat.Bfree), int64(stat.Bavail)
		return volumeSpace{size: (blocks - free + available) * block, available: available * block}, nil
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// allocated returns the space that a file takes. A file with holes is longer than that.
func allocated(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Blocks) * blockBytes
	}
	return info.Size()
}
