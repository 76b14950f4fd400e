// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// volume is a small file system of its own.
type volume struct {
	t   *testing.T
	dir string
	// data is the data directory on it.
	data string
}

// mountVolume mounts an empty file system. Only root can do that.
func mountVolume(t *testing.T, size int64) *volume {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root can mount a file system: run the tests as root, or in a container")
	}
	v := &volume{t: t, dir: t.TempDir()}
	v.data = filepath.Join(v.dir, "data")
	if err := unix.Mount("tmpfs", v.dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatalf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(v.dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return v
}

func (v *volume) remount(flags uintptr, options string) {
	v.t.Helper()
	if err := unix.Mount("", v.dir, "", unix.MS_REMOUNT|flags, options); err != nil {
		v.t.Fatalf("mounting again: %v", err)
	}
}

func (v *volume) available() int64 {
	v.t.Helper()
	space, err := measureVolume(v.dir)
	if err != nil {
		v.t.Fatal(err)
	}
	return space.available
}

// leave fills the volume with a file of somebody else until only so much is left, and returns the
// function that removes the file.
func (v *volume) leave(left int64) func() {
	v.t.Helper()
	path := filepath.Join(v.dir, "of-somebody-else")
	file, err := os.Create(path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 4096)
	for v.available() > left {
		if _, err := file.Write(block); errors.Is(err, unix.ENOSPC) {
			break
		} else if err != nil {
			v.t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			v.t.Error(err)
		}
	}
}
