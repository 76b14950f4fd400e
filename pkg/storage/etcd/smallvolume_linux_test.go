// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"
)

const (
	mebi = 1 << 20
	// valueBytes is a large object's size.
	valueBytes = 100 << 10
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

// fill puts new keys until one is refused, and returns their number and the refusal.
func fill(t *testing.T, client *clientv3.Client, server *Server) (int, error) {
	t.Helper()
	value := strings.Repeat("x", valueBytes)
	for i := 0; ; i++ {
		if _, err := client.Put(t.Context(), fmt.Sprintf("key/%05d", i), value); err != nil {
			mustRun(t, server)
			return i, err
		}
	}
}

// mustRun fails the test if etcd has ended by itself.
func mustRun(t *testing.T, server *Server) {
	t.Helper()
	select {
	case err := <-server.Err():
		t.Fatalf("etcd ended: %v", err)
	default:
	}
}

func wantKey(t *testing.T, client *clientv3.Client, key string) {
	t.Helper()
	if _, err := get(t.Context(), client, key); err != nil {
		t.Errorf("reading: %v", err)
	}
}
