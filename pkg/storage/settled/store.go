// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package settled

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

const (
	// folder is where the records are below the prefix of all keys.
	folder = "settled"
	// lifetime is how long a record is kept that nobody replaces.
	lifetime = 24 * time.Hour
	// partBytes is the size of the parts in which a record is written. etcd takes 1.5 MiB at once.
	partBytes = 512 << 10
	// sumBytes is the size of the checksum before the first part.
	sumBytes = 8
)

// Store keeps one record for each controller.
type Store struct {
	client *clientv3.Client
	prefix string
}

// New returns the store of a server whose keys have this prefix.
func New(client *clientv3.Client, prefix string) *Store {
	return &Store{client, etcd.KeyPrefix(prefix) + folder + "/"}
}

// Load returns the record of a controller; nil if there is none, or if it was not written to its end.
func (s *Store) Load(ctx context.Context, controller types.UID) ([]byte, error) {
	found, err := s.client.Get(ctx, s.recordPrefix(controller), clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read the record of settled parents: %w", err)
	}
	var whole []byte
	for _, part := range found.Kvs {
		whole = append(whole, part.Value...)
	}
	if len(whole) < sumBytes || binary.LittleEndian.Uint64(whole) != xxhash.Sum64(whole[sumBytes:]) {
		return nil, nil
	}
	return whole[sumBytes:], nil
}

// Save replaces the record of a controller. If it fails, there may be none.
func (s *Store) Save(ctx context.Context, controller types.UID, record []byte) error {
	lease, err := s.client.Grant(ctx, int64(lifetime.Seconds()))
	if err != nil {
		return fmt.Errorf("write the record of settled parents: %w", err)
	}
	whole := binary.LittleEndian.AppendUint64(make([]byte, 0, sumBytes+len(record)), xxhash.Sum64(record))
	parts := slices.Collect(slices.Chunk(append(whole, record...), partBytes))
	var before clientv3.LeaseID
	for i, part := range slices.Backward(parts) {
		key := fmt.Sprintf("%s%06d", s.recordPrefix(controller), i)
		answer, err := s.client.Put(ctx, key, string(part), clientv3.WithLease(lease.ID), clientv3.WithPrevKV())
		if err != nil {
			return fmt.Errorf("write the record of settled parents: %w", err)
		}
		if answer.PrevKv != nil {
			before = clientv3.LeaseID(answer.PrevKv.GetLease())
		}
	}
	if before == clientv3.NoLease {
		return nil
	}
	// This removes the parts by which an earlier record was longer.
	if _, err := s.client.Revoke(ctx, before); err != nil {
		return fmt.Errorf("remove the former record of settled parents: %w", err)
	}
	return nil
}

func (s *Store) recordPrefix(controller types.UID) string { return s.prefix + string(controller) + "/" }
