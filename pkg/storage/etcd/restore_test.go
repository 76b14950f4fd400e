// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
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
	written, err := snapshot.WriteTo(file)
	if err := errors.Join(err, snapshot.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	if written != snapshot.Size {
		t.Errorf("the snapshot has %d bytes, but says %d", written, snapshot.Size)
	}
	return path
}

func mustRestore(t *testing.T, path, dataDir string) int64 {
	t.Helper()
	revision, err := Restore(path, dataDir, false)
	if err != nil {
		t.Fatal(err)
	}
	return revision
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
}

// A client that has watched the storage that was lost must not go on where the restored one is by chance.
func TestRevisionsAreAboveAllOfThePast(t *testing.T) {
	server := start(t, Config{DataDir: shortTempDir(t)})
	client := connect(t, server)
	put(t, client, "key", "1")
	path := saveSnapshot(t, server)
	seen := revisionOf(t, client)
	for range 3 { // of the same snapshot, again and again
		dir := shortTempDir(t)
		revision := mustRestore(t, path, dir)
		restored := connect(t, start(t, Config{DataDir: dir}))
		if revision <= seen {
			t.Errorf("the revision is %d, want one above %d, which was seen before", revision, seen)
		}
		events := restored.Watch(t.Context(), "key", clientv3.WithRev(seen+1))
		if answer := <-events; !errors.Is(answer.Err(), rpctypes.ErrCompacted) {
			t.Errorf("a watch from revision %d has got %+v, want that it is compacted", seen+1, answer)
		}
		put(t, restored, "key", "2")
		seen = revisionOf(t, restored)
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

// An operator who looks for the snapshot to go back to restores several, within minutes, and the clock may be wrong.
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
		restored func(int64) int64
	}{
		{"the first snapshot", func() string { return first }, nil},
		{"one that was made soon after", func() string { return second }, nil},
		{"the same once more", func() string { return second }, nil},
		{"the first snapshot again", func() string { return first }, nil},
		{"one while the clock is an hour ahead", func() string { return first }, func(last int64) int64 {
			return restoredRevision(last, time.Now().Add(time.Hour))
		}},
		{"one when the clock is right again", func() string { return first }, nil},
		{"another one then", func() string { return second }, nil},
	}
	for _, life := range lives {
		restoreIt := func() (int64, error) { return Restore(life.snapshot(), dir, true) }
		if life.restored != nil {
			restoreIt = func() (int64, error) { return restore(life.snapshot(), dir, true, life.restored) }
		}
		revision, err := restoreIt()
		if err != nil {
			t.Fatalf("%s: %v", life.name, err)
		}
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
			if _, err := Restore(snapshot, dir, true); err != nil {
				t.Fatal(err)
			}
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

func TestRestoredRevisions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for name, test := range map[string]struct{ last, want int64 }{
		"a storage that was never restored":   {4711, now.UnixMicro()},
		"one that was restored an hour ago":   {now.Add(-time.Hour).UnixMicro() + 100, now.UnixMicro()},
		"one that was restored this minute":   {now.Add(-time.Minute).UnixMicro() + 100, now.UnixMicro()},
		"one that was restored just now":      {now.UnixMicro() - 1, now.UnixMicro()},
		"a clock that stands still":           {now.UnixMicro(), now.UnixMicro() + leastBump},
		"a clock that goes after the storage": {now.Add(time.Hour).UnixMicro(), now.Add(time.Hour).UnixMicro() + leastBump},
	} {
		if got := restoredRevision(test.last, now); got != test.want {
			t.Errorf("%s: the revision is %d, want %d", name, got, test.want)
		}
	}
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
	server := start(t, Config{DataDir: shortTempDir(t)})
	put(t, connect(t, server), "key", "1")
	whole := saveSnapshot(t, server)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	damaged := append([]byte(nil), content...)
	damaged[len(damaged)/2] ^= 1
	used := shortTempDir(t)
	mustRestore(t, whole, used)
	for name, test := range map[string]struct {
		path, dataDir string
		words         []string
	}{
		"a file that is cut off":             {write("cut", content[:len(content)-4096]), shortTempDir(t), []string{"cut", "not a whole one"}},
		"a file with another byte":           {write("damaged", damaged), shortTempDir(t), []string{"damaged", "checksum is wrong"}},
		"no snapshot":                        {write("text", []byte("text")), shortTempDir(t), []string{"text", "no snapshot"}},
		"no file":                            {filepath.Join(t.TempDir(), "none"), shortTempDir(t), []string{"none", "no such file"}},
		"a directory with a storage":         {whole, used, []string{"has a storage already", filepath.Join(used, "etcd"), "move"}},
		"a directory that a server is using": {whole, server.keeper.dataDir, []string{"is in use", "lock"}},
	} {
		_, err := Restore(test.path, test.dataDir, false)
		if err == nil {
			t.Errorf("%s: it was restored", name)
			continue
		}
		wantWords(t, err, test.words...)
	}
}

func TestAStorageIsReplacedOnlyByAWholeOne(t *testing.T) {
	dir := shortTempDir(t)
	server, err := Start(t.Context(), Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(server)
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, "key", "snapshot")
	path := saveSnapshot(t, server)
	put(t, client, "key", "later")
	if err := errors.Join(client.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}

	half := filepath.Join(t.TempDir(), "half")
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{{half, "later"}, {path, "snapshot"}} {
		if _, err := Restore(test.path, dir, true); (err != nil) != (test.path == half) {
			t.Errorf("restoring %s: %v", test.path, err)
		}
		server, err := Start(t.Context(), Config{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		client, err := newClient(server)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := get(t.Context(), client, "key"); err != nil || got != test.want {
			t.Errorf("the key is %q, %v after %s was restored, want %q", got, err, test.path, test.want)
		}
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARestoreThatWasKilledIsBegunAnew(t *testing.T) {
	server := start(t, Config{DataDir: shortTempDir(t)})
	put(t, connect(t, server), "key", "1")
	path, dir := saveSnapshot(t, server), shortTempDir(t)
	half := filepath.Join(dir, "etcd.restoring", "member")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	mustRestore(t, path, dir)
	wantKey(t, connect(t, start(t, Config{DataDir: dir})), "key")
	if _, err := os.Stat(filepath.Join(dir, "etcd.restoring")); !os.IsNotExist(err) {
		t.Errorf("what the killed restore has left is still there: %v", err)
	}
}
