// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAFullVolumeIsSaid(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serveContent(t, content)
	const existing = "metacontroller-20260101T000000.000Z.db"
	for name, test := range map[string]struct {
		args  []string
		words string
	}{
		"with a number of files to keep": {[]string{"--keep=3"},
			"is full: lower --keep, or enlarge the volume; it must have room for one snapshot more than --keep, which is 3"},
		"with only one to keep": {[]string{"--keep=1"},
			"is full: enlarge it, or remove what else is on it; it must have room for one snapshot more than --keep, which is 1"},
		"with all kept": {nil,
			"is full: set --keep, with which the oldest snapshots are removed, or enlarge the volume"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mountVolume(t, len(content)*3/2)
			fill(t, dir, content, time.Now(), existing)
			_, _, err := run(t, append([]string{"save", "--kubeconfig=" + kubeconfig, "--directory=" + dir}, test.args...)...)
			if err == nil || !strings.Contains(err.Error(), "no space left on device; the volume of "+dir+" "+test.words) {
				t.Errorf("the error is %v, want %q in it", err, test.words)
			}
			if left := list(t, dir); !slices.Equal(left, []string{existing}) {
				t.Errorf("there are %q, want the one from before", left)
			}
		})
	}
	t.Run("with a file", func(t *testing.T) {
		path := filepath.Join(mountVolume(t, len(content)/2), "a.db")
		_, _, err := run(t, "save", "--kubeconfig="+kubeconfig, path)
		want := filepath.Dir(path) + " is full: enlarge it, or remove what else is on it"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	})
}
