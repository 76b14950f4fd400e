// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
)

// Checksum compares the checksum at the end of a snapshot with what is written to it.
type Checksum struct {
	of hash.Hash
	// last are the bytes that may be the checksum.
	last []byte
}

// NewChecksum returns a Checksum to which the whole snapshot is to be written.
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

// Verify returns an error unless what was written is a whole snapshot.
func (c *Checksum) Verify() error {
	if len(c.last) < sha256.Size || !bytes.Equal(c.of.Sum(nil), c.last) {
		return errors.New("it is no snapshot, or not a whole one: its checksum is wrong")
	}
	return nil
}
