// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage"
)

// reclaimSpace makes a database writable again that has reached its quota. etcd refuses every write
// to it, and so the API server's own compaction, until an operator compacts it, defragments it and
// disarms the alarm. At start there are no watches yet, so only the last revision is needed.
func (s *Server) reclaimSpace(ctx context.Context, quotaBytes int64) error {
	client := v3client.New(s.etcd.Server)
	defer client.Close()

	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("listing the alarms of etcd: %w", err)
	}
	alarm := spaceAlarm(alarms)
	if alarm == nil {
		return nil
	}
	if err := compactAll(ctx, client); err != nil {
		return fmt.Errorf("compacting etcd, which is out of space: %w", err)
	}
	if err := s.etcd.Server.Backend().Defrag(); err != nil {
		return fmt.Errorf("defragmenting etcd, which is out of space: %w", err)
	}
	if quotaBytes == 0 {
		quotaBytes = storage.DefaultQuotaBytes
	}
	size := s.etcd.Server.Backend().Size()
	if size >= quotaBytes {
		s.logger.Error(nil, "Embedded etcd is full: it serves reads, and refuses writes until its quota is raised",
			"databaseBytes", size, "quotaBytes", quotaBytes)
		return nil
	}
	if _, err := client.AlarmDisarm(ctx, alarm); err != nil {
		return fmt.Errorf("disarming the alarm of etcd, which was out of space: %w", err)
	}
	s.logger.Info("Embedded etcd had reached its quota; it was compacted and takes writes again",
		"databaseBytes", size, "quotaBytes", quotaBytes)
	return nil
}

func spaceAlarm(alarms *clientv3.AlarmResponse) *clientv3.AlarmMember {
	for _, alarm := range alarms.Alarms {
		if alarm.Alarm == pb.AlarmType_NOSPACE {
			return (*clientv3.AlarmMember)(alarm)
		}
	}
	return nil
}

func compactAll(ctx context.Context, client *clientv3.Client) error {
	current, err := client.Get(ctx, "\x00", clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	_, err = client.Compact(ctx, current.Header.Revision, clientv3.WithCompactPhysical())
	if errors.Is(err, rpctypes.ErrCompacted) {
		return nil
	}
	return err
}
