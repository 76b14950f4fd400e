// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mountVolume mounts an empty file system of a size. Only root can do that.
func mountVolume(t *testing.T, size int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root can mount a file system: run the tests as root, or in a container")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatalf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

func TestAVolumeFullOfPartsIsSavedToAgain(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serveContent(t, content)
	file := zipped(t, content)
	const first, part = "metacontroller-20260101T000000.000Z.db.gz", "metacontroller-20260102T000000.000Z.db.gz.part-1"
	dir := mountVolume(t, 2*(len(file)/pageBytes+1)*pageBytes)
	fill(t, dir, file, time.Now().Add(-6*time.Hour), first, part)
	if _, _, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir, "--keep=2"); err != nil {
		t.Errorf("the save fails: %v", err)
	}
}
