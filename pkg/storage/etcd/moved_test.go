// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"os"
	"path/filepath"
	"testing"
)

// On a full volume there is no room for the mark without the reserve.
func TestAStorageThatWasMovedNeedsNoReserve(t *testing.T) {
	dir := t.TempDir()
	reserve := filepath.Join(dir, "reserve")
	if err := os.WriteFile(reserve, []byte("space"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MarkMoved(dir, "https://etcd-0:2379"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(reserve); !os.IsNotExist(err) {
		t.Errorf("the reserve is kept: %v", err)
	}
}

func TestTheMarkOfAMoveSaysWhereTo(t *testing.T) {
	dir := t.TempDir()
	isMoved := func(to string) bool {
		t.Helper()
		is, err := IsMoved(dir, to)
		if err != nil {
			t.Error(err)
		}
		return is
	}
	if isMoved("https://etcd-0:2379") {
		t.Error("a new directory is moved")
	}
	if err := MarkMoved(dir, "https://etcd-0:2379"); err != nil {
		t.Fatal(err)
	}
	if !isMoved("https://etcd-0:2379") || isMoved("https://etcd-0:23") {
		t.Error("it was not moved to https://etcd-0:2379 alone")
	}
	_, err := Start(t.Context(), Config{DataDir: dir})
	wantWords(t, err, "the storage was moved to https://etcd-0:2379")
	if err := UnmarkMoved(dir); err != nil {
		t.Fatal(err)
	}
	start(t, Config{DataDir: dir})
}
