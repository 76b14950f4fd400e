// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// saveSnapshot writes a snapshot of a server into a file.
func saveSnapshot(t *testing.T, server *Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := server.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, snapshot)
	if err := errors.Join(err, snapshot.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// compressed returns a file with the compressed content of another one.
func compressed(t *testing.T, path string) string {
	t.Helper()
	var content bytes.Buffer
	zip := gzip.NewWriter(&content)
	if _, err := zip.Write(readFile(t, path)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Base(path)+".gz", content.Bytes())
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeFile(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustRestore(t *testing.T, path, dataDir string) *Restored {
	t.Helper()
	restored, err := Restore(path, dataDir)
	if err != nil {
		t.Fatal(err)
	}
	return restored
}

func TestARestoredStorageHasWhatTheSnapshotHas(t *testing.T) {
	server := start(t, Config{DataDir: shortTempDir(t)})
	client := connect(t, server)
	put(t, client, "kept", "1")
	put(t, client, "deleted", "1")
	if _, err := client.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	path := saveSnapshot(t, server)
	put(t, client, "kept", "2")
	put(t, client, "later", "1")

	info, err := InspectSnapshot(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Keys != 1 || info.Size == 0 {
		t.Errorf("the snapshot has %+v, want one key and a size", info)
	}
	for name, path := range map[string]string{"plain": path, "compressed": compressed(t, path)} {
		t.Run(name, func(t *testing.T) {
			dir := shortTempDir(t)
			mustRestore(t, path, dir)
			restored := connect(t, start(t, Config{DataDir: dir}))
			for key, want := range map[string]string{"kept": "1", "deleted": "", "later": ""} {
				found, err := restored.Get(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				if len(found.Kvs) > 0 {
					got = string(found.Kvs[0].Value)
				}
				if got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
			put(t, restored, "later", "2")
		})
	}
}

// ended runs a server, has a client use it, and returns the last revision that the client has seen.
func ended(t *testing.T, dir string, use func(*Server, *clientv3.Client)) (seen int64) {
	t.Helper()
	server, err := Start(t.Context(), Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(server)
	if err != nil {
		t.Fatal(err)
	}
	use(server, client)
	seen = revisionOf(t, client)
	if err := errors.Join(client.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	return seen
}

// A client that has watched a storage must not go on where a restored one is by chance. An operator who looks for the
// snapshot to go back to restores several, one after another.
func TestRevisionsRiseThroughAllTheLivesOfAStorage(t *testing.T) {
	dir := shortTempDir(t)
	var first, second string // of the first life, and of one that was restored
	seen := ended(t, dir, func(server *Server, client *clientv3.Client) {
		put(t, client, "key", "1")
		first = saveSnapshot(t, server)
	})
	lives := []struct {
		name     string
		snapshot func() string
	}{
		{"the first snapshot", func() string { return first }},
		{"one that was made soon after", func() string { return second }},
		{"the same once more", func() string { return second }},
		{"the first snapshot again", func() string { return first }},
	}
	for _, life := range lives {
		revision := mustRestore(t, life.snapshot(), dir).Revision
		if revision <= seen {
			t.Errorf("%s: the revision is %d, want one above %d, which was seen before", life.name, revision, seen)
		}
		before := seen
		seen = ended(t, dir, func(server *Server, client *clientv3.Client) {
			for range 3 {
				put(t, client, "key", life.name)
			}
			watching, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if answer := <-client.Watch(watching, "key", clientv3.WithRev(before+1)); !errors.Is(answer.Err(), rpctypes.ErrCompacted) {
				t.Errorf("%s: a watch from revision %d has got %+v, want that it is compacted", life.name, before+1, answer)
			}
			if second == "" {
				second = saveSnapshot(t, server)
			}
		})
	}
}

func TestADamagedStorageIsReplaced(t *testing.T) {
	etcdDir, snapshot := endedWith(t, "snapshot")
	database := filepath.Join("member", "snap", "db")
	content, err := os.ReadFile(filepath.Join(etcdDir, database))
	if err != nil {
		t.Fatal(err)
	}
	pages := 2 * os.Getpagesize()
	for name, left := range map[string][]byte{
		"an empty database":                   {},
		"no database":                         []byte("noodle"),
		"one that is cut off":                 content[:pages],
		"one with pages of something else":    append(append([]byte{}, content[:pages]...), bytes.Repeat([]byte("noodle"), 100_000)...),
		"one with pages that have only zeros": append(append([]byte{}, content[:pages]...), make([]byte, len(content))...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortTempDir(t)
			if err := os.CopyFS(filepath.Join(dir, "etcd"), os.DirFS(etcdDir)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "etcd", database), left, 0o600); err != nil {
				t.Fatal(err)
			}
			mustRestore(t, snapshot, dir)
			wantValue(t, dir, "snapshot")
		})
	}
}

func revisionOf(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	found, err := client.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	return found.Header.Revision
}

func TestASnapshotIsWholeThoughTheServerIsWrittenTo(t *testing.T) {
	server := start(t, Config{DataDir: shortTempDir(t)})
	client := connect(t, server)
	put(t, client, "key", "1")
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				put(t, client, "key", "2")
			}
		}
	})
	for range 5 {
		if _, err := InspectSnapshot(saveSnapshot(t, server)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	writing.Wait()
}

func TestWhatIsNotRestored(t *testing.T) {
	inUse := shortTempDir(t)
	server := start(t, Config{DataDir: inUse})
	put(t, connect(t, server), "key", "1")
	whole := saveSnapshot(t, server)
	content := readFile(t, whole)
	damaged := append([]byte(nil), content...)
	damaged[len(damaged)/2] ^= 1
	zipped := readFile(t, compressed(t, whole))
	etcdDir, _ := endedWith(t, "old")
	used := filepath.Dir(etcdDir)
	const notWhole = "not a complete snapshot"
	for name, test := range map[string]struct {
		path, dataDir string
		words         []string
	}{
		"a file that is cut off": {
			writeFile(t, "cut", content[:len(content)-4096]), used, []string{"cut", notWhole},
		},
		"a compressed file that is cut off": {
			writeFile(t, "cut.gz", zipped[:len(zipped)/2]), used, []string{"cut.gz", notWhole},
		},
		"a file with another byte": {
			writeFile(t, "damaged", damaged), used, []string{"damaged", "checksum is wrong"},
		},
		"no snapshot":                        {writeFile(t, "text", []byte("text")), used, []string{"text", notWhole}},
		"no file":                            {filepath.Join(t.TempDir(), "none"), used, []string{"none", "no such file"}},
		"a directory that a server is using": {whole, inUse, []string{"is in use", "lock"}},
	} {
		_, err := Restore(test.path, test.dataDir)
		if err == nil {
			t.Errorf("%s: it was restored", name)
			continue
		}
		wantWords(t, err, test.words...)
	}
	wantValue(t, used, "old")
}

// endedWith returns the directory of the etcd of a storage with one key, whose server has ended, and a snapshot of it.
func endedWith(t *testing.T, value string) (etcdDir, snapshot string) {
	t.Helper()
	dir := shortTempDir(t)
	ended(t, dir, func(server *Server, client *clientv3.Client) {
		put(t, client, "key", value)
		snapshot = saveSnapshot(t, server)
	})
	return storageOf(dir), snapshot
}

// wantValue starts a server, and wants that its storage has the key with a value.
func wantValue(t *testing.T, dir, want string) {
	t.Helper()
	ended(t, dir, func(_ *Server, client *clientv3.Client) {
		if got, err := get(t.Context(), client, "key"); err != nil || got != want {
			t.Errorf("the key is %q, %v, want %q", got, err, want)
		}
	})
}

func TestTheFormerStorageIsKept(t *testing.T) {
	etcdDir, _ := endedWith(t, "old")
	dir := filepath.Dir(etcdDir)
	_, snapshot := endedWith(t, "restored")
	former := mustRestore(t, snapshot, dir).Former
	wantValue(t, dir, "restored")
	if err := errors.Join(os.RemoveAll(etcdDir), os.Rename(former, etcdDir)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, dir, "old")
}

// What a killed restore has left is never an empty storage: it is the old one, the restored one, or an error.
func TestARestoreThatWasKilledAnywhereLosesNothing(t *testing.T) {
	old, _ := endedWith(t, "old")
	restored, snapshot := endedWith(t, "restored")
	half := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(half, "member", "snap"), 0o700),
		os.WriteFile(filepath.Join(half, "member", "snap", "db"), []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	const setAside = "etcd.before-20260101T000000.000000Z"
	type directories map[string]string // by their names, what they are copies of
	for name, test := range map[string]struct {
		left   directories
		former string // the directory that has the old storage after the restore was run again
	}{
		"beside the old storage, with a half copy": {directories{"etcd": old, "etcd.restoring/etcd": half}, "etcd.before-*"},
		"beside the old storage, with a whole copy": {
			directories{"etcd": old, "etcd.restoring/etcd": restored}, "etcd.before-*",
		},
		"when the old storage was set aside": {directories{setAside: old, "etcd.restoring/etcd": restored}, setAside},
		"when the restored one was in its place": {
			directories{setAside: old, "etcd": restored, "etcd.restoring": t.TempDir()}, setAside,
		},
		"in a new directory, with a half copy":  {directories{"etcd.restoring/etcd": half}, ""},
		"in a new directory, with a whole copy": {directories{"etcd.restoring/etcd": restored}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortTempDir(t)
			for part, source := range test.left {
				if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(source)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Start(t.Context(), Config{DataDir: dir}); err == nil {
				t.Fatal("a server starts")
			} else {
				wantWords(t, err, "an incomplete restore left", filepath.Join(dir, "etcd.restoring"), "run", "again")
			}
			// Another restore fails. No server may start with an empty storage.
			if _, err := Restore(filepath.Join(half, "member", "snap", "db"), dir); err == nil {
				t.Fatal("a damaged snapshot was restored")
			}
			if _, hasStorage := test.left["etcd"]; !hasStorage {
				if _, err := Start(t.Context(), Config{DataDir: dir}); err == nil {
					t.Fatal("after a restore that failed, a server starts without a storage")
				}
			}
			mustRestore(t, snapshot, dir)
			wantValue(t, dir, "restored")
			if test.former == "" {
				return
			}
			found, err := filepath.Glob(filepath.Join(dir, test.former))
			if err != nil || len(found) != 1 {
				t.Fatalf("the old storage is in %q, %v", found, err)
			}
			another := shortTempDir(t)
			if err := os.Rename(found[0], filepath.Join(another, "etcd")); err != nil {
				t.Fatal(err)
			}
			wantValue(t, another, "old")
		})
	}
}
