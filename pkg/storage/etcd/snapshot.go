// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
)

// Snapshot is a copy of the database as of when it was taken, with its checksum at the end. That is the
// format of `etcdctl snapshot save`.
type Snapshot struct {
	// Size is how many bytes WriteTo writes.
	Size int64

	content interface {
		io.WriterTo
		io.Closer
	}
	// end is called when the content was closed.
	end func()
}

// Snapshot takes a snapshot, while the server goes on serving. Until it is closed, the database keeps what was
// deleted in the meantime, and is not defragmented. If it is being defragmented now, Snapshot waits for that,
// or returns an error when the context ends.
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	open := s.keeper.snapshots
	if err := open.begin(ctx); err != nil {
		return nil, fmt.Errorf("no snapshot can be taken while the storage is being defragmented: %w", err)
	}
	taken := s.etcd.Server.Backend().Snapshot()
	return &Snapshot{Size: taken.Size() + sha256.Size, content: taken, end: open.end}, nil
}

// WriteTo writes the snapshot.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	checksum := sha256.New()
	written, err := s.content.WriteTo(io.MultiWriter(w, checksum))
	if err != nil {
		return written, err
	}
	added, err := w.Write(checksum.Sum(nil))
	return written + int64(added), err
}

// Close ends the snapshot.
func (s *Snapshot) Close() error {
	defer s.end()
	return s.content.Close()
}
