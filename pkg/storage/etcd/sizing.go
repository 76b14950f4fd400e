// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

const (
	// maxQuotaBytes is the largest quota that follows from a volume. It bounds how long writes wait
	// while the database is defragmented, and is more than enough for configuration.
	maxQuotaBytes = 2 << 30
	// minQuotaBytes is the smallest one: an empty database has some 100 KiB.
	minQuotaBytes = 8 << 20

	// maxOverheadBytes is what is set aside of a volume beside the database and its copy. A half of
	// it is for the write-ahead log and snapshots, which a test measures. A quarter is the reserve,
	// a quarter the floor.
	maxOverheadBytes = 256 << 20
)

// sizing says how the space of a volume is divided.
type sizing struct {
	// space is the size of the volume. What others have on it does not change the quota, or that
	// would be another one after each start.
	space int64
	// quota is the size that the database may have. Twice as much must fit, because a second copy
	// of the database exists while it is defragmented.
	quota int64
	// reserve is the size of the file that is given back when the volume is full, so that etcd can
	// start.
	reserve int64
	// floor is the free space below which writes are refused, before etcd fails for want of it.
	floor int64
}

// sizingFor divides the space. Less than 512 MiB is divided in the same proportions: a half is for
// the database and its copy.
func sizingFor(space int64) sizing {
	overhead := overheadFor(space)
	return sizing{
		space:   space,
		quota:   min(max((space-overhead)/2, minQuotaBytes), maxQuotaBytes),
		reserve: overhead / 4,
		floor:   overhead / 4,
	}
}

func overheadFor(space int64) int64 {
	return min(space/2, maxOverheadBytes)
}

// need returns the space that a quota needs.
func need(quota int64) int64 {
	return 2*quota + min(2*quota, maxOverheadBytes)
}
