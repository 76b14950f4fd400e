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

func TestAFullVolumeIsSavedToAgain(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serveContent(t, content)
	for name, before := range map[string][]string{
		"after saves were killed": {"metacontroller-20260101T000000.000Z.db", "metacontroller-20260102T000000.000Z.db.part-1"},
		"after --keep is lowered": {"metacontroller-20260101T000000.000Z.db", "metacontroller-20260102T000000.000Z.db"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mountVolume(t, len(content)*5/2)
			fill(t, dir, content, time.Now().Add(-6*time.Hour), before...)
			if _, _, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir, "--keep=1"); err != nil {
				t.Errorf("the save fails: %v", err)
			}
		})
	}
}
