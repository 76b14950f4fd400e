// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"os"
	"path/filepath"
	"testing"
)

func receive(t *testing.T, dataDir string) *Arrival {
	t.Helper()
	arrival, err := Receive(t.Context(), dataDir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := arrival.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return arrival
}

// take has an object arrive.
func (a *Arrival) take(t *testing.T, key string) {
	t.Helper()
	client := connect(t, a.Server)
	put(t, client, key, "v1")
	if found, err := client.Get(t.Context(), key); err != nil || found.Header.GetRevision() <= 1000 {
		t.Errorf("the revision is %d, want one above 1000: %v", found.Header.GetRevision(), err)
	}
	_ = client.Close()
}

func TestADataDirectoryServesWhenAllHasArrived(t *testing.T) {
	dir := t.TempDir()
	arrival := receive(t, dir)
	arrival.take(t, "first")
	_, err := Start(t.Context(), Config{DataDir: dir})
	wantWords(t, err, "is in use")
	if err := arrival.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Config{DataDir: dir})
	wantWords(t, err, "the objects are being moved into this data directory", "run `metacontroller-apiserver storage move` again",
		"remove "+filepath.Join(dir, "etcd.moving"))

	again := receive(t, dir)
	again.take(t, "second")
	if err := again.Finish(); err != nil {
		t.Fatal(err)
	}
	client := connect(t, start(t, Config{DataDir: dir}))
	if _, err := get(t.Context(), client, "second"); err != nil {
		t.Error(err)
	}
	if _, err := get(t.Context(), client, "first"); err == nil {
		t.Error("what the unfinished move left is there")
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd.moving")); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
}

func TestNothingArrivesWhereAStorageIs(t *testing.T) {
	dir := t.TempDir()
	if err := start(t, Config{DataDir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Receive(t.Context(), dir, 1000)
	wantWords(t, err, "has a storage already")
	start(t, Config{DataDir: dir})
}

func TestASnapshotIsRestoredInPlaceOfAnUnfinishedMove(t *testing.T) {
	_, snapshot := endedWith(t, "restored")
	dir := shortTempDir(t)
	if err := receive(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	mustRestore(t, snapshot, dir)
	wantValue(t, dir, "restored")
	wantGone(t, filepath.Join(dir, arriving))
}

func TestNothingArrivesWhereARestoreHasNotFinished(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etcd.restoring"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Receive(t.Context(), dir, 1000)
	wantWords(t, err, "a restore into", "has not finished")
}

func TestAStorageBesideAnUnfinishedMoveIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := receive(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(dir, "etcd", "member")
	if err := os.MkdirAll(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Receive(t.Context(), dir, 1000)
	wantWords(t, err, "has a storage already")
	if _, err := os.Stat(restored); err != nil {
		t.Error(err)
	}
}

func TestAMoveThatWasEndedWithItsStorageInPlaceBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	if err := receive(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "etcd.moving", "etcd"), filepath.Join(dir, "etcd")); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{DataDir: dir})
	wantWords(t, err, "that has not finished")
	if err := receive(t, dir).Finish(); err != nil {
		t.Fatal(err)
	}
	start(t, Config{DataDir: dir})
}
