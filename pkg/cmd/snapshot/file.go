// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// saveAs makes a file of a snapshot, and says so.
func saveAs(open func() (io.ReadCloser, error), path string, stderr io.Writer) error {
	snapshot, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = snapshot.Close() }()
	size, err := saveFile(snapshot, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Saved %s: %s\n", path, sizeText(size))
	return nil
}

// saveFile makes a file of a snapshot, which must be whole, and returns its size in bytes. The file is compressed if
// its name ends in ".gz". No other file is touched.
func saveFile(snapshot io.Reader, path string) (size int64, err error) {
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return 0, errors.Join(fmt.Errorf("%s exists already", path), err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMark+"*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	copying := receive
	if strings.HasSuffix(path, ".gz") {
		copying = compress
	}
	if err := errors.Join(copying(snapshot, file), file.Sync(), file.Close()); err != nil {
		return 0, fmt.Errorf("save %s: %w", path, err)
	}
	info, err := os.Stat(file.Name())
	if err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(file.Name(), path)
}

func compress(snapshot io.Reader, into io.Writer) error {
	zip := gzip.NewWriter(into)
	if err := receive(snapshot, zip); err != nil {
		return err
	}
	return zip.Close()
}

// receive copies a snapshot. It returns an error if that is not the whole one.
func receive(snapshot io.Reader, into io.Writer) error {
	checksum := etcd.NewChecksum()
	if _, err := io.Copy(io.MultiWriter(into, checksum), snapshot); err != nil {
		return fmt.Errorf("copy the snapshot: %w", err)
	}
	return checksum.Verify()
}
