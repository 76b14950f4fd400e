// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"k8s.io/klog/v2"
)

const (
	// calmInterval is how often the keeper measures the volume, for the case that others fill it.
	calmInterval = time.Minute
	// tenseInterval is how often it does so while writes are refused or will soon be.
	tenseInterval = 5 * time.Second
	// shortestInterval is how long the keeper rests while writes are refused: each of them wakes it.
	shortestInterval = time.Second

	// settleTurns is how often the keeper tries to have freed pages counted as free, and
	// settleInterval how long it waits in between.
	settleTurns    = 5
	settleInterval = 20 * time.Millisecond

	// startDefragmentBytes is the free space inside the database from which on it is defragmented
	// at start, when nobody waits for writes yet.
	startDefragmentBytes = 100 << 20
)

// keeper keeps space for writes: it compacts and defragments the database before its quota is
// reached, and has etcd take writes again when there is room. All of it happens while etcd serves.
//
// etcd counts against the quota the pages of the database file that are in use, and also free ones
// below the last used one. A compaction removes former versions of objects and so makes pages free;
// new writes use them. A defragmentation makes the file smaller: it copies what is in use into a
// new file, and all requests wait until it has finished.
type keeper struct {
	logger  klog.Logger
	dataDir string
	logDir  string
	etcd    *etcdserver.EtcdServer
	quota   int64
	gate    *gate
	reserve *reserve
	// snapshots are those that are open.
	snapshots *openSnapshots

	// compactedTo is the revision of the last compaction, and compactedInUse what was in use after
	// it.
	compactedTo, compactedInUse int64
	// refusal is the message that was logged last, or "" if writes were taken then.
	refusal string
}

// run tends the space until the context ends.
func (k *keeper) run(ctx context.Context) {
	for {
		if k.gate.refuses() && !sleep(ctx, shortestInterval, nil) || !sleep(ctx, k.interval(), k.gate.wake) {
			return
		}
		k.tend(ctx, false)
	}
}

// sleep waits until the time has passed or the channel delivers. It returns false if the context
// ended.
func sleep(ctx context.Context, duration time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-timer.C:
	}
	return true
}

func (k *keeper) interval() time.Duration {
	if k.gate.refuses() {
		return tenseInterval
	}
	space, err := measureVolume(k.dataDir)
	if err == nil && space.available < 4*k.gate.sizing.floor {
		return tenseInterval
	}
	return calmInterval
}

// tend does what is to be done now. Errors are logged: there is nobody else who could do something
// about them, and the next turn tries again.
func (k *keeper) tend(ctx context.Context, starting bool) {
	defer k.gate.turns.done()
	if err := k.shortenLog(); err != nil {
		k.logger.Error(err, "Log of the storage cannot be made shorter")
	}
	k.gate.measure()
	if k.alarmed() {
		k.gate.full.Store(true)
	}
	k.useReserve()
	if err := k.compact(ctx); err != nil && ctx.Err() == nil {
		k.logger.Error(err, "Storage cannot be compacted")
	}
	if k.gate.full.Load() {
		k.settle(ctx)
	}
	if err := k.defragment(starting); err != nil {
		k.logger.Error(err, "Storage cannot be defragmented")
	}
	if err := k.disarm(ctx); err != nil && ctx.Err() == nil {
		k.logger.Error(err, "Alarm of the storage cannot be disarmed")
	}
	k.holdReserve()
	k.gate.measure()
	k.report()
}

// shortenLog removes the oldest segments of the log, except those that etcd still needs and has
// locked. etcd could do that, but only every thirty seconds, however much is written.
func (k *keeper) shortenLog() error {
	once := make(chan struct{})
	close(once)
	done, failed := fileutil.PurgeFileWithDoneNotify(k.etcd.Logger(), k.logDir, ".wal", maxSegments, calmInterval, once)
	<-done
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// useReserve gives the reserve back when so little space is left that etcd could end for want of it.
func (k *keeper) useReserve() {
	if space, err := measureVolume(k.dataDir); err != nil || space.available >= segmentBytes || !k.reserve.held.Load() {
		return
	}
	if err := k.reserve.giveBack(); err != nil {
		k.logger.Error(err, "Storage cannot use its reserve")
	}
}

// compact removes the former versions of all objects when that is needed, and has been worth it
// since the last time.
func (k *keeper) compact(ctx context.Context) error {
	revision := k.etcd.KV().Rev()
	inUse := k.etcd.Backend().SizeInUse()
	pressed := inUse >= k.quota*7/10 && inUse >= k.compactedInUse+k.quota/20
	if revision <= k.compactedTo || !pressed && !k.gate.refuses() {
		return nil
	}
	_, err := k.etcd.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: true})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return fmt.Errorf("compacting etcd to revision %d: %w", revision, err)
	}
	k.settle(ctx)
	k.compactedTo, k.compactedInUse = revision, k.etcd.Backend().SizeInUse()
	k.logger.V(2).Info("Compacted the storage", "revision", revision, "inUseBefore", inUse, "inUse", k.compactedInUse)
	return nil
}

// settle has the pages that a compaction has made free counted as free. A page is pending after the
// commit that freed it, and free after a later one, when no read that began before is left. etcd
// ends such reads a moment after a commit. The database commits only what was written, so something
// is written that changes nothing.
func (k *keeper) settle(ctx context.Context) {
	backend := k.etcd.Backend()
	for inUse, turn := backend.SizeInUse(), 0; turn < settleTurns && backend.SizeInUse() >= inUse; turn++ {
		tx := backend.BatchTx()
		tx.LockOutsideApply()
		if revision, found := mvcc.UnsafeReadFinishedCompact(tx); found {
			mvcc.UnsafeSetFinishedCompact(tx, revision)
		}
		tx.Unlock()
		backend.ForceCommit()
		if !sleep(ctx, settleInterval, nil) {
			return
		}
	}
}

// defragment makes the database file smaller when that is worth the pause, and there is room for
// the copy. If only the reserve makes that room, it is used. While a snapshot is open, it is put off: the end of the
// snapshot wakes the keeper.
func (k *keeper) defragment(starting bool) error {
	backend := k.etcd.Backend()
	size, inUse := backend.Size(), backend.SizeInUse()
	if !k.worthDefragmenting(size, size-inUse, starting) {
		return nil
	}
	if !k.snapshots.exclude() {
		k.logger.V(2).Info("Defragmentation is put off until no snapshot is being read")
		return nil
	}
	defer k.snapshots.admit()
	space, err := measureVolume(k.dataDir)
	if err != nil {
		return err
	}
	copied := inUse + segmentBytes
	if space.available < copied {
		if space.available+k.reserve.size-k.reserve.missing() < copied {
			return fmt.Errorf("a copy needs %s, and the volume of %s has %s left", bytesText(copied), k.dataDir, bytesText(space.available))
		}
		if err := k.reserve.giveBack(); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := backend.Defrag(); err != nil {
		return err
	}
	k.logger.Info("Defragmented the storage", "sizeBefore", bytesText(size), "size", bytesText(backend.Size()),
		"took", time.Since(began).Round(time.Millisecond))
	return nil
}

func (k *keeper) worthDefragmenting(size, free int64, starting bool) bool {
	switch {
	case k.gate.full.Load():
		return free >= k.quota/20
	case k.gate.low.Load():
		return free >= k.gate.sizing.floor/2
	case starting && free >= startDefragmentBytes:
		return true
	}
	return size >= k.quota*8/10 && free >= k.quota/4
}

// disarm has etcd take writes again after it had reached its quota, when a tenth of the quota is
// free.
func (k *keeper) disarm(ctx context.Context) error {
	if !k.gate.full.Load() || k.etcd.Backend().Size() > k.quota*9/10 {
		return nil
	}
	if k.alarmed() {
		_, err := k.etcd.Alarm(ctx, &pb.AlarmRequest{
			Action: pb.AlarmRequest_DEACTIVATE, MemberID: uint64(k.etcd.MemberID()), Alarm: pb.AlarmType_NOSPACE,
		})
		if err != nil {
			return err
		}
	}
	k.gate.full.Store(false)
	return nil
}

// alarmed reports whether the alarm NOSPACE of etcd is raised: etcd refuses writes then.
func (k *keeper) alarmed() bool {
	for _, alarm := range k.etcd.Alarms() {
		if alarm.GetAlarm() == pb.AlarmType_NOSPACE {
			return true
		}
	}
	return false
}

// holdReserve sets the reserve aside again when there is space for it beside what opens the gate.
func (k *keeper) holdReserve() {
	missing := k.reserve.missing()
	if missing == 0 {
		return
	}
	if space, err := measureVolume(k.dataDir); err != nil || space.available-missing < k.gate.opensAt() {
		return
	}
	if err := k.reserve.hold(); err != nil {
		k.logger.Error(err, "Storage has no reserve")
	}
}

// report logs that writes are refused from now on, or are taken again.
func (k *keeper) report() {
	refuses := k.gate.refuses()
	switch {
	case refuses && k.refusal == "":
		k.refusal = k.message()
		k.logger.Error(nil, "Storage refuses writes, and serves reads and deletions", "reason", k.refusal)
	case !refuses && k.refusal != "":
		k.refusal = ""
		k.logger.Info("Storage takes writes again")
	}
}

// message says why writes are refused, and what to do.
func (k *keeper) message() string {
	if k.gate.low.Load() {
		left := "too little space"
		if space, err := measureVolume(k.dataDir); err == nil {
			left = fmt.Sprintf("%s of %s", bytesText(space.available), bytesText(space.size))
		}
		return fmt.Sprintf("storage is full: the volume of %s has %s left; enlarge it, or remove what else is on it: "+
			"writes are taken again when %s are free", k.dataDir, left, bytesText(k.gate.opensAt()+k.reserve.missing()))
	}
	return fmt.Sprintf("storage is full: mvcc: database space exceeded: objects take %s of the quota of %s; delete objects that "+
		"have no finalizers, such as ControllerRevisions nobody needs, or enlarge the volume of %s and restart the server, "+
		"or raise --etcd-quota-backend-bytes if it is set",
		bytesText(k.etcd.Backend().SizeInUse()), bytesText(k.quota), k.dataDir)
}

// SpaceProblem returns why the storage refuses writes at the moment, and what to do, or nil.
func (s *Server) SpaceProblem() error {
	if !s.keeper.gate.refuses() {
		return nil
	}
	return errors.New(s.keeper.message())
}
