// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"golang.org/x/sys/unix"
)

// warnOfQuota logs when the quota is not below half of the volume. A defragmentation writes a second copy of the
// database, and etcd ends when its volume is full.
func (s *Server) warnOfQuota(dataDir string, quotaBytes int64) {
	quota := cmp.Or(quotaBytes, storage.DefaultQuotaBytes)
	volume, err := measureVolume(dataDir)
	if err != nil {
		s.logger.Error(err, "Size of the volume is unknown")
		return
	}
	if quota >= volume.size/2 {
		s.logger.Error(nil, "The quota of the storage is not less than half of its volume: lower "+
			"--etcd-quota-backend-bytes, or enlarge the volume. If the volume is full before the storage reaches the "+
			"quota, the server exits",
			"dataDir", dataDir, "quota", sizeText(quota), "volume", sizeText(volume.size))
	}
}

// leaveNoSpaceAlarm compacts and defragments the storage if its alarm NOSPACE is raised, and disarms the alarm if there
// is room then. Etcd raises the alarm when the database reaches its quota, and refuses writes until the alarm is
// disarmed.
func (s *Server) leaveNoSpaceAlarm(ctx context.Context) error {
	client, err := s.connect()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return err
	}
	for _, alarm := range alarms.Alarms {
		if alarm.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return s.makeRoom(ctx, client, alarms.Header.Revision, alarm)
		}
	}
	return nil
}

func (s *Server) makeRoom(
	ctx context.Context, client *clientv3.Client, revision int64, alarm *etcdserverpb.AlarmMember,
) error {
	_, err := client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact: %w", err)
	}
	if _, err := client.Defragment(ctx, s.Endpoint()); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	status, err := client.Status(ctx, s.Endpoint())
	if err != nil {
		return err
	}
	if status.DbSize >= status.DbSizeQuota {
		return fmt.Errorf("the objects take %s of the quota of %s: raise --etcd-quota-backend-bytes, and enlarge the "+
			"volume if the quota is half of it, or delete objects that you do not need and restart the "+
			"server", sizeText(status.DbSize), sizeText(status.DbSizeQuota))
	}
	if _, err := client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
		return fmt.Errorf("disarm the alarm: %w", err)
	}
	s.logger.Info("Storage accepts writes again: it had reached its quota, and has free space after a defragmentation",
		"database", sizeText(status.DbSize), "quota", sizeText(status.DbSizeQuota))
	return nil
}

// volumeSpace is the space of a file system, in bytes.
type volumeSpace struct {
	// What only root may use is left out of both.
	size, available int64
}

// measureVolume returns the space of the file system that a directory is on.
func measureVolume(dir string) (volumeSpace, error) {
	var stat unix.Statfs_t
	for {
		err := unix.Statfs(dir, &stat)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return volumeSpace{}, fmt.Errorf("measuring the volume of %s: %w", dir, err)
		}
		block := int64(stat.Bsize)
		blocks, free, available := int64(stat.Blocks), int64(stat.Bfree), int64(stat.Bavail)
		return volumeSpace{size: (blocks - free + available) * block, available: available * block}, nil
	}
}

// sizeText formats a size for people.
func sizeText(bytes int64) string {
	const mebi, gibi = 1 << 20, 1 << 30
	if bytes >= gibi {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/gibi)
	}
	return fmt.Sprintf("%d MiB", bytes/mebi)
}

// explain adds advice to an error of the storage.
func explain(err error, dataDir string) error {
	if damaged(err) {
		return fmt.Errorf("%w; the data in %s is damaged: restore a snapshot with metacontroller-apiserver snapshot "+
			"restore --data-dir %s", err, storageOf(dataDir), dataDir)
	}
	return explainVolume(err, dataDir)
}

// explainVolume adds advice about the volume to an error of a file.
func explainVolume(err error, dataDir string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; the volume is read-only, and must be writable: mount it read-write, "+
			"or repair its file system if the system has made it read-only after an error", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; this process runs as user %d and group %d, and must be able to write to the volume: set "+
			"fsGroup in the Pod's securityContext; if the provisioner ignores it (volumes of host paths), change the owner "+
			"of the folder on its node: chown -R %[2]d:%[3]d", err, os.Getuid(), os.Getgid())
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; the volume of %s is full%s: enlarge it", err, dataDir, spaceText(dataDir))
	}
	return err
}

func spaceText(dataDir string) string {
	space, err := measureVolume(dataDir)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%s of %s left)", sizeText(space.available), sizeText(space.size))
}

// damaged reports whether an error says that the log or the database cannot be read.
func damaged(err error) bool {
	return slices.ContainsFunc([]error{
		wal.ErrCRCMismatch, wal.ErrFileNotFound, wal.ErrMetadataConflict, wal.ErrSliceOutOfRange, wal.ErrSnapshotMismatch,
		wal.ErrSnapshotNotFound, io.ErrUnexpectedEOF, bolterrors.ErrChecksum, bolterrors.ErrInvalid, bolterrors.ErrVersionMismatch,
	}, func(sign error) bool { return errors.Is(err, sign) })
}
