// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"
)

// openSnapshots has no defragmentation begin while a snapshot is open, and no snapshot while a defragmentation runs. Etcd answers
// no request while it defragments, and its defragmentation waits until all snapshots are closed. So a slow reader of a snapshot
// would block all requests.
type openSnapshots struct {
	// open has one part for each open snapshot. A defragmentation has all parts.
	open *semaphore.Weighted
	// closed is called when a snapshot was closed.
	closed func()
}

const allParts = math.MaxInt64

func newOpenSnapshots(closed func()) *openSnapshots {
	return &openSnapshots{open: semaphore.NewWeighted(allParts), closed: closed}
}

// begin is called before a snapshot is taken. It waits while the database is defragmented.
func (o *openSnapshots) begin(ctx context.Context) error { return o.open.Acquire(ctx, 1) }

// end is called when a snapshot was closed.
func (o *openSnapshots) end() {
	o.open.Release(1)
	o.closed()
}

// exclude has new snapshots wait until admit is called. It returns false, and does nothing, if one is open.
func (o *openSnapshots) exclude() bool { return o.open.TryAcquire(allParts) }

func (o *openSnapshots) admit() { o.open.Release(allParts) }
