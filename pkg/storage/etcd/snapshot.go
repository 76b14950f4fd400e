// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/sha256"
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
}

// Snapshot takes a snapshot, while the server goes on serving. Until it is closed, the database keeps what was
// deleted in the meantime.
func (s *Server) Snapshot() *Snapshot {
	taken := s.etcd.Server.Backend().Snapshot()
	return &Snapshot{Size: taken.Size() + sha256.Size, content: taken}
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
func (s *Snapshot) Close() error { return s.content.Close() }
