// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// saveAs makes a file of a snapshot, and says so.
func saveAs(snapshot io.Reader, path string, stderr io.Writer) error {
	info, err := saveFile(snapshot, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Saved %s: %d keys as of revision %d, %s\n", path, info.Keys, info.Revision, sizeText(info.Size))
	return nil
}

// saveFile makes a file of a snapshot, which must be whole and sound. No other file is touched.
func saveFile(snapshot io.Reader, path string) (*etcd.SnapshotInfo, error) {
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return nil, errors.Join(fmt.Errorf("%s exists already", path), err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMark+"*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := errors.Join(receive(snapshot, file), file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("save %s: %w", path, err)
	}
	info, err := etcd.InspectSnapshot(file.Name())
	if err != nil {
		return nil, err
	}
	return info, os.Rename(file.Name(), path)
}

// receive copies a snapshot. It returns an error if that is not the whole one.
func receive(snapshot io.Reader, into io.Writer) error {
	checksum := etcd.NewChecksum()
	if _, err := io.Copy(io.MultiWriter(into, checksum), snapshot); err != nil {
		return fmt.Errorf("copy the snapshot: %w", err)
	}
	return checksum.Verify()
}
