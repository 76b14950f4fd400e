// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// serveContent serves what may be a snapshot, and returns a kubeconfig.
func serveContent(t *testing.T, content []byte) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
}

// fill makes files with a content in a directory, last written at a time.
func fill(t *testing.T, dir string, content []byte, written time.Time, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
}

// list returns the names of the files in a directory.
func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestADirectoryKeepsTheLatestSnapshots(t *testing.T) {
	kubeconfig := serveContent(t, newSnapshot(t))
	const (
		first     = "metacontroller-20260101T000000.000Z.db.gz"
		second    = "metacontroller-20260102T000000.000Z.db.gz"
		third     = "metacontroller-20260103T000000.000Z.db.gz"
		future    = "metacontroller-20990101T000000.000Z.db.gz"
		farFuture = "metacontroller-20990102T000000.000Z.db.gz"
	)
	for name, test := range map[string]struct {
		dir    string
		before []string
		keep   string
		left   []string // beside the one that is saved
	}{
		"the oldest are removed": {
			before: []string{first, second, third}, keep: "2", left: []string{third}},
		"all are kept": {
			before: []string{first, second, third}, keep: "0", left: []string{first, second, third}},
		"fewer than are kept": {
			before: []string{first}, keep: "3", left: []string{first}},
		"the one just saved stays beside one from a clock that was ahead": {
			before: []string{future}, keep: "1"},
		"those from a clock that was ahead count, and go first": {
			before: []string{first, second, future, farFuture}, keep: "4", left: []string{first, second, farFuture}},
		"names that others have given stay": {
			before: []string{"metacontroller-1.0-before-upgrade.db", "metacontroller-before-upgrade.db", "others.db",
				"metacontroller-20260101.db", "metacontroller-20260101T000000.000Z.db"},
			keep: "1",
			left: []string{"metacontroller-1.0-before-upgrade.db", "metacontroller-before-upgrade.db", "others.db",
				"metacontroller-20260101.db", "metacontroller-20260101T000000.000Z.db"}},
		"a name with what is a pattern elsewhere": {
			dir: "[a-z]*", before: []string{first, second}, keep: "2", left: []string{second}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), test.dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			fill(t, dir, nil, time.Now(), test.before...)
			_, said, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir, "--keep="+test.keep)
			if err != nil {
				t.Fatal(err)
			}
			path, _, _ := strings.Cut(strings.TrimPrefix(said, "Saved "), ": ")
			want := append(slices.Clone(test.left), filepath.Base(path))
			slices.Sort(want)
			if left := list(t, dir); !slices.Equal(left, want) {
				t.Errorf("there are %q, want %q", left, want)
			}
		})
	}
}

func TestASnapshotStaysIfTheClockIsSetBackMeanwhile(t *testing.T) {
	dir := t.TempDir()
	const before, latest = "metacontroller-20260102T000000.000Z.db.gz", "metacontroller-20260103T000000.000Z.db.gz"
	fill(t, dir, nil, time.Now(), before, latest)
	setBack := time.Date(2026, time.January, 2, 12, 0, 0, 0, time.UTC)
	if err := (directory{path: dir, keep: 1}).tidy(setBack, latest); err != nil {
		t.Fatal(err)
	}
	if left := list(t, dir); !slices.Equal(left, []string{latest}) {
		t.Errorf("there are %q, want only the one just saved", left)
	}
}

func TestASaveThatFailsLeavesAsManySnapshotsAsAreKept(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serveContent(t, content[:len(content)/2])
	dir := t.TempDir()
	want := []string{"metacontroller-20260102T000000.000Z.db.gz", "metacontroller-20260103T000000.000Z.db.gz"}
	fill(t, dir, nil, time.Now(), append([]string{"metacontroller-20260101T000000.000Z.db.gz"}, want...)...)
	if _, _, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir, "--keep=2"); err == nil {
		t.Fatal("half a snapshot was saved")
	}
	if left := list(t, dir); !slices.Equal(left, want) {
		t.Errorf("there are %q, want %q", left, want)
	}
}

func TestWhatKilledSavesLeftIsRemoved(t *testing.T) {
	content := newSnapshot(t)
	whole := serveContent(t, content)
	half := serveContent(t, content[:len(content)/2])
	const (
		abandoned = "metacontroller-20260101T000000.000Z.db.gz.part-1"
		underWay  = "metacontroller-20260101T000000.000Z.db.gz.part-2"
		others    = "metacontroller-before-upgrade.db.part-3"
	)
	for name, args := range map[string][]string{
		"by a save":                    {"--kubeconfig=" + whole, "--keep=1"},
		"by a save that keeps all":     {"--kubeconfig=" + whole},
		"by a save that itself failed": {"--kubeconfig=" + half, "--keep=1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, nil, time.Now().Add(-2*time.Hour), abandoned, others)
			fill(t, dir, nil, time.Now().Add(-50*time.Minute), underWay)
			_, _, _ = run(t, append([]string{"save", "--directory=" + dir}, args...)...)
			left := list(t, dir)
			if slices.Contains(left, abandoned) {
				t.Errorf("%s is still there", abandoned)
			}
			for _, name := range []string{underWay, others} {
				if !slices.Contains(left, name) {
					t.Errorf("%s is gone", name)
				}
			}
		})
	}
}
