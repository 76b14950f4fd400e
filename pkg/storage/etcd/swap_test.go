// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// endedWith returns the directory of the etcd of a storage with one key, whose server has ended, and a snapshot of it.
func endedWith(t *testing.T, value string) (etcdDir, snapshot string) {
	t.Helper()
	dir := shortTempDir(t)
	server, err := Start(t.Context(), Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(server)
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, "key", value)
	snapshot = saveSnapshot(t, server)
	if err := errors.Join(client.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "etcd"), snapshot
}

// wantValue starts a server, and wants that its storage has the key with a value.
func wantValue(t *testing.T, dir, want string) {
	t.Helper()
	server, err := Start(t.Context(), Config{DataDir: dir})
	if err != nil {
		t.Fatalf("it does not start: %v", err)
	}
	client, err := newClient(server)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := get(t.Context(), client, "key"); err != nil || got != want {
		t.Errorf("the key is %q, %v, want %q", got, err, want)
	}
	if err := errors.Join(client.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
}

func wantGone(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

// What a killed restore has left is never an empty storage: it is the old one, the restored one, or an error.
func TestARestoreThatWasKilledAnywhereLosesNothing(t *testing.T) {
	oldDir, _ := endedWith(t, "old")
	_, snapshot := endedWith(t, "restored")
	restoredIn := shortTempDir(t)
	mustRestore(t, snapshot, restoredIn)
	half := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(half, "member", "snap"), 0o700),
		os.WriteFile(filepath.Join(half, "member", "snap", "db"), []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	from := map[string]string{"old": oldDir, "restored": filepath.Join(restoredIn, "etcd"), "half": half, "empty": t.TempDir()}
	moved := []string{"was moved to elsewhere"}
	unfinished := []string{"a restore into", "has not finished", "run it again", "etcd.restoring"}

	for name, test := range map[string]struct {
		etcd, restoring, replaced string
		moved                     bool
		value                     string   // of the key after a start
		words                     []string // of its error instead
	}{
		"beside the old storage, with a half copy":         {etcd: "old", restoring: "half", value: "old"},
		"beside the old storage, with a whole copy":        {etcd: "old", restoring: "restored", value: "old"},
		"when the old storage was set aside":               {replaced: "old", restoring: "restored", value: "restored"},
		"when the restored one was put in its place":       {replaced: "old", etcd: "restored", value: "restored"},
		"while the old storage was removed":                {replaced: "half", etcd: "restored", value: "restored"},
		"in a new directory, with a half copy":             {restoring: "half", words: unfinished},
		"in a new directory, with a whole copy":            {restoring: "restored", words: unfinished},
		"in a directory that a server failed to start in":  {etcd: "empty", restoring: "restored", words: unfinished},
		"in a new directory, before it was in its place":   {replaced: "empty", restoring: "restored", value: "restored"},
		"in a new directory, when it was in its place":     {replaced: "empty", etcd: "restored", value: "restored"},
		"in place of a moved one, with a whole copy":       {moved: true, etcd: "old", restoring: "restored", words: moved},
		"in place of a moved one, that was set aside":      {moved: true, replaced: "old", restoring: "restored", value: "restored"},
		"in place of a moved one, when it was in place":    {moved: true, replaced: "old", etcd: "restored", value: "restored"},
		"and then somebody removed the copy by hand":       {replaced: "old", words: []string{"etcd.replaced", "is gone", "rename"}},
		"and then somebody cut off the storage that it is": {replaced: "old", etcd: "empty", words: []string{"etcd.replaced", "is gone", "rename"}},
	} {
		left := func(t *testing.T) (dir string) {
			dir = shortTempDir(t)
			for part, source := range map[string]string{"etcd": test.etcd, "etcd.restoring": test.restoring, "etcd.replaced": test.replaced} {
				if source == "" {
					continue
				}
				if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(from[source])); err != nil {
					t.Fatal(err)
				}
			}
			if test.moved {
				if err := MarkMoved(dir, "elsewhere"); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		}
		t.Run(name+", a server starts", func(t *testing.T) {
			dir := left(t)
			if test.words == nil {
				wantValue(t, dir, test.value)
				wantGone(t, filepath.Join(dir, "etcd.restoring"), filepath.Join(dir, "etcd.replaced"), filepath.Join(dir, movedFile))
				return
			}
			server, err := Start(t.Context(), Config{DataDir: dir})
			if err == nil {
				_ = server.Close()
				t.Fatal("it starts")
			}
			wantWords(t, err, test.words...)
		})
		t.Run(name+", it is run again", func(t *testing.T) {
			dir := left(t)
			_, err := Restore(snapshot, dir, true)
			if test.replaced == "old" && len(test.words) > 0 {
				wantWords(t, err, test.words...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantGone(t, filepath.Join(dir, "etcd.restoring"), filepath.Join(dir, "etcd.replaced"), filepath.Join(dir, movedFile))
			wantValue(t, dir, "restored")
		})
	}
}
