// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// zipped returns what a compressed file with a content has.
func zipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := compress(bytes.NewReader(content), &file); err != nil {
		t.Fatal(err)
	}
	if _, err := gzip.NewReader(bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func names(count int) (names []string) {
	for day := range count {
		names = append(names, fmt.Sprintf("metacontroller-202601%02dT000000.000Z.db.gz", day+1))
	}
	return names
}

const pageBytes = 4096 // of the volume, in which each file takes whole pages

// Saves go on however much the snapshots grow. So many files fill the volume that the new one does not fit.
func TestAFullVolumeKeepsTheNewestSnapshots(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serveContent(t, content)
	size := (len(zipped(t, content))/pageBytes + 1) * pageBytes
	const full = "no space left on device; the volume of "
	for name, test := range map[string]struct {
		before, room int // snapshots on the volume, and those that fit
		keep         string
		left         int // of those before
		fails        bool
	}{
		"the oldest gives way":                      {before: 6, room: 6, keep: "28", left: 5},
		"several give way":                          {before: 6, room: 6, keep: "6", left: 5},
		"after --keep was lowered":                  {before: 6, room: 6, keep: "2", left: 1},
		"three stay, whatever is new":               {before: 3, room: 3, keep: "28", left: 3, fails: true},
		"as many as are kept stay, if that is less": {before: 1, room: 1, keep: "1", left: 1, fails: true},
		"all stay, if all are kept":                 {before: 6, room: 6, keep: "0", left: 6, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mountVolume(t, test.room*size)
			before := names(test.before)
			fill(t, dir, make([]byte, size), time.Now(), before...)
			_, said, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir, "--keep="+test.keep)
			if (err != nil) != test.fails || err != nil && !strings.Contains(err.Error(), full+dir+" is full: enlarge it") {
				t.Errorf("the error is %v", err)
			}
			left := list(t, dir)
			if !test.fails {
				if !strings.Contains(said, "Saved "+filepath.Join(dir, left[len(left)-1])) {
					t.Errorf("it says %q", said)
				}
				left = left[:len(left)-1]
			}
			if want := before[test.before-test.left:]; !slices.Equal(left, want) {
				t.Errorf("of those before there are %q, want %q", left, want)
			}
		})
	}
	t.Run("with a file", func(t *testing.T) {
		path := filepath.Join(mountVolume(t, pageBytes), "a.db")
		_, _, err := run(t, "save", "--kubeconfig="+kubeconfig, path)
		if err == nil || !strings.Contains(err.Error(), full+filepath.Dir(path)+" is full: enlarge it") {
			t.Errorf("the error is %v", err)
		}
	})
}

// A snapshot that has grown to the size of several old ones replaces as many.
func TestALargerSnapshotReplacesSeveral(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serveContent(t, content)
	size := (len(zipped(t, content))/pageBytes + 1) * pageBytes
	dir := mountVolume(t, 8*size)
	small := 8 * size / pageBytes // that fill it
	if small > 31 {
		t.Fatalf("a snapshot has %d bytes: there are not as many days in a month", size)
	}
	before := names(small)
	fill(t, dir, make([]byte, pageBytes), time.Now(), before...)
	_, said, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir, "--keep=100")
	if err != nil {
		t.Fatal(err)
	}
	left := list(t, dir)
	if kept := len(left) - 1; kept < leastKept || kept >= small || !slices.Equal(left[:kept], before[small-kept:]) {
		t.Errorf("there are %q, of %d", left, small)
	}
	if want := "Removed " + before[0] + ", the oldest"; !strings.Contains(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}
