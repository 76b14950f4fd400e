// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// Snapshot takes a snapshot while the server still serves: a copy of the database with a checksum at the end, as
// `etcdctl snapshot save` makes it. The context also bounds the reading. Until the reader is closed, the database keeps
// deleted data.
func (s *Server) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	client, err := s.connect()
	if err != nil {
		return nil, err
	}
	snapshot, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking a snapshot: %w", err), client.Close())
	}
	return snapshotReader{snapshot.Snapshot, client}, nil
}

// snapshotReader has a client of its own.
type snapshotReader struct {
	io.ReadCloser
	client *clientv3.Client
}

// Close ends the snapshot.
func (r snapshotReader) Close() error {
	return errors.Join(r.ReadCloser.Close(), r.client.Close())
}

// SnapshotInfo describes a file with a snapshot.
type SnapshotInfo struct {
	// Revision is the revision of the last write in the snapshot.
	Revision int64 `json:"revision"`
	// Keys is the number of keys: the objects, and a few of the API server itself.
	Keys int `json:"keys"`
	// Size is the size of the database, in bytes.
	Size int64 `json:"size"`
	// Version is the version of etcd whose storage format it has, such as "3.6.0". A new storage has none in its
	// first second.
	Version string `json:"version,omitempty"`
}

// InspectSnapshot reads a file with a snapshot, which may be compressed. It returns an error if the file is damaged.
func InspectSnapshot(path string) (info *SnapshotInfo, err error) {
	dir, err := os.MkdirTemp("", "snapshot-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plain, err := plainSnapshot(path, dir)
	if err == nil {
		info, err = inspect(plain)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return info, nil
}

// inspect reads a file that plainSnapshot has created.
func inspect(plain string) (*SnapshotInfo, error) {
	status, err := snapshot.NewV3(zap.NewNop()).Status(plain)
	if err != nil {
		return nil, err
	}
	return &SnapshotInfo{
		Revision: status.Revision, Keys: status.TotalKey, Size: status.TotalSize, Version: status.Version,
	}, nil
}

// plainSnapshot checks a file with a snapshot, and makes one in a directory that is not compressed.
func plainSnapshot(path, dir string) (plain string, err error) {
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	into, err := os.Create(filepath.Join(dir, "snapshot.db"))
	if err != nil {
		return "", err
	}
	return into.Name(), errors.Join(decompress(from, into), into.Close())
}

// decompress copies a snapshot, and verifies its checksum. A gzip file begins with two bytes that no database begins
// with.
func decompress(from io.Reader, into io.Writer) error {
	buffered := bufio.NewReader(from)
	var content io.Reader = buffered
	if begin, _ := buffered.Peek(2); bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		var err error
		if content, err = gzip.NewReader(buffered); err != nil {
			return err
		}
	}
	checksum := NewChecksum()
	switch _, err := io.Copy(io.MultiWriter(into, checksum), content); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("not a complete snapshot: %w", err)
	case err != nil:
		return err
	}
	return checksum.Verify()
}

// Checksum compares the checksum at the end of a snapshot with the data that is written to it.
type Checksum struct {
	of hash.Hash
	// last are the bytes that may be the checksum.
	last []byte
}

// NewChecksum returns a Checksum. The caller writes the entire snapshot to it.
func NewChecksum() *Checksum { return &Checksum{of: sha256.New()} }

// Write never fails.
func (c *Checksum) Write(p []byte) (int, error) {
	c.last = append(c.last, p...)
	if known := len(c.last) - sha256.Size; known > 0 {
		c.of.Write(c.last[:known])
		c.last = append(c.last[:0], c.last[known:]...)
	}
	return len(p), nil
}

// Verify returns an error unless the written data is a complete snapshot.
func (c *Checksum) Verify() error {
	if len(c.last) < sha256.Size || !bytes.Equal(c.of.Sum(nil), c.last) {
		return errors.New("not a complete snapshot: its checksum is wrong")
	}
	return nil
}
