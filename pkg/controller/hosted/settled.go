// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// A parent is settled if its last sync succeeded, changed nothing, asked for no other one, and had nothing to warn of. It is
// then left alone until it or a child changes, or until all parents are synced again. That holds for the
// process that runs the controller next, too: it does not call the hook about a parent that it finds as the
// last sync left it. What was left is remembered as one hash a parent.

// SettledStore keeps the records of controllers from one process to the next.
type SettledStore interface {
	// Load returns the record of a controller; nil if there is none.
	Load(ctx context.Context, controller types.UID) ([]byte, error)
	// Save replaces the record of a controller.
	Save(ctx context.Context, controller types.UID, record []byte) error
}

// Settled is where controllers remember which parents are settled.
type Settled struct {
	Store SettledStore
	// Build stands for what decides about children besides the spec: the build and its flags. What
	// another build remembers does not count.
	Build string
	// SyncAll has what is remembered not used: all parents are synced when a controller starts.
	SyncAll bool
}

const (
	// settledPeriod is how often a running controller saves its record.
	settledPeriod = 5 * time.Minute
	// settledTimeout bounds how long it takes to load a record, and to save one.
	settledTimeout = 2 * time.Second
)

// settledParents are the settled parents of one controller. A nil one remembers nothing. Its methods may be
// called concurrently.
type settledParents struct {
	store      SettledStore
	controller types.UID
	// seed is hashed with each parent. It is another one if the controller is no longer the same.
	seed uint64
	// syncAll is Settled.SyncAll.
	syncAll bool
	// recalled has the sorted hashes of an earlier process; nil if they do not count.
	recalled atomic.Pointer[[]uint64]
	// enqueued is when all parents were enqueued last, in seconds since 1970.
	enqueued atomic.Int64
	// saved stands for the record that was saved last.
	saved uint64
}

// newSettledParents returns nil if nothing is remembered. That is so for a controller with a customize hook:
// only the hook knows which related objects it wants to see.
func newSettledParents(settled *Settled, spec *Spec) *settledParents {
	if settled == nil || spec.Customize != nil {
		return nil
	}
	var seed xxhash.Digest
	seed.Reset()
	add := func(text string) {
		_, _ = seed.WriteString(text)
		_, _ = seed.Write([]byte{0})
	}
	add(settled.Build)
	add(string(spec.UID))
	_, _ = seed.Write(binary.LittleEndian.AppendUint64(nil, uint64(spec.Generation)))
	for _, target := range spec.Targets {
		add(target.Type.String())
	}
	for _, child := range spec.Children {
		add(child.String())
	}
	return &settledParents{store: settled.Store, controller: spec.UID, seed: seed.Sum64(), syncAll: settled.SyncAll}
}

// hash returns the hash of what a sync of a parent depends on; zero if the parent cannot be settled.
func (c *Controller) settledHash(snapshot *pipeline.Snapshot) uint64 {
	if c.settled == nil || snapshot.Finalizing || !snapshot.Managed || snapshot.Parent.DeletionTimestamp != nil {
		return 0
	}
	hash := plan.SettledInputs(c.settled.seed+c.watched.hash(), snapshot, c.observer.IgnoresStatus(snapshot.Parent))
	if c.spec.Rollout == nil {
		return hash
	}
	stored, err := c.revisionsOf(snapshot)
	if err != nil {
		return 0
	}
	var all xxhash.Digest
	all.ResetWithSeed(hash)
	for _, revision := range stored {
		_, _ = all.WriteString(string(revision.UID))
		_, _ = all.WriteString(revision.ResourceVersion)
	}
	return all.Sum64()
}

// isSettled reports whether a parent is settled after a sync that returned next.
func (c *Controller) isSettled(parent object.Key, state *parentState, result *syncResult, next syncqueue.Result) bool {
	return next == syncqueue.Done(0) && result.inputs != 0 && !result.rolling && result.leaving == nil && state.loopsEnd == 0 &&
		!c.health.hasFindings(parent) && !c.changedInputs(result.outcomes)
}

// changedInputs reports whether the steps of a sync have changed what the sync depended on. The hash of its inputs then says how
// things were before these writes, and another sync follows them. The write of a status that is ignored changes no input.
func (c *Controller) changedInputs(outcomes []pipeline.Outcome) bool {
	for i := range outcomes {
		outcome := &outcomes[i]
		if changed(outcome) && (outcome.Op != pipeline.Status || !c.observer.IgnoresStatus(outcome.Observed)) {
			return true
		}
	}
	return false
}

// wasSettled reports whether an earlier process left a parent settled whose inputs had this hash.
func (s *settledParents) wasSettled(hash uint64) bool {
	if s == nil || hash == 0 {
		return false
	}
	recalled := s.recalled.Load()
	if recalled == nil {
		return false
	}
	_, found := slices.BinarySearch(*recalled, hash)
	return found
}

// load reads what an earlier process left. It does not count if all parents are due to be synced again by now,
// as one of the periods says. It returns when all parents were enqueued last, which is now if it does not count.
func (s *settledParents) load(ctx context.Context, periods []time.Duration) time.Time {
	now := time.Now()
	if s == nil {
		return now
	}
	s.allEnqueued(now)
	if s.syncAll {
		return now
	}
	ctx, cancel := context.WithTimeout(ctx, settledTimeout)
	defer cancel()
	record, err := s.store.Load(ctx, s.controller)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read which parents were settled, so all are synced")
		return now
	}
	enqueued, hashes, ok := decodeSettled(record)
	isDue := func(period time.Duration) bool { return period > 0 && now.Sub(enqueued) >= period }
	if !ok || enqueued.After(now) || slices.ContainsFunc(periods, isDue) {
		return now
	}
	s.enqueued.Store(enqueued.Unix())
	s.recalled.Store(&hashes)
	klog.FromContext(ctx).V(2).Info("Parents that are as they were left are not synced", "settled", len(hashes))
	return enqueued
}

// allEnqueued notes that all parents were enqueued. Nothing is recalled from then on.
func (s *settledParents) allEnqueued(now time.Time) {
	if s != nil {
		s.enqueued.Store(now.Unix())
		s.recalled.Store(nil)
	}
}

// save writes the record, unless it is as it was.
func (s *settledParents) save(ctx context.Context, hashes []uint64) {
	if s == nil {
		return
	}
	slices.Sort(hashes)
	record := encodeSettled(time.Unix(s.enqueued.Load(), 0), hashes)
	now := xxhash.Sum64(record)
	if now == s.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settledTimeout)
	defer cancel()
	if err := s.store.Save(ctx, s.controller, record); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to save which parents are settled, so the next process syncs more of them")
		return
	}
	s.saved = now
}

// startSaving saves the record every settledPeriod, until stop is called. Then it is saved for the last time.
func (c *Controller) startSaving(ctx context.Context) (stop func()) {
	if c.settled == nil {
		return func() {}
	}
	save := func() {
		if c.settled.recalled.Load() != nil && c.health.isPending() {
			return // the former record knows more
		}
		c.settled.save(ctx, c.parents.settled())
	}
	end := startPeriodic(ctx, []time.Duration{settledPeriod}, 0, save)
	return func() { end(); save() }
}

// settledFormat is the first byte of each record.
const settledFormat = 1

// encodeSettled makes a record: the format, the time in seconds, and the hashes.
func encodeSettled(enqueued time.Time, hashes []uint64) []byte {
	record := make([]byte, 0, 9+8*len(hashes))
	record = append(record, settledFormat)
	record = binary.LittleEndian.AppendUint64(record, uint64(enqueued.Unix()))
	for _, hash := range hashes {
		record = binary.LittleEndian.AppendUint64(record, hash)
	}
	return record
}

// decodeSettled reads a record. It reports false if there is none, or none of this format.
func decodeSettled(record []byte) (enqueued time.Time, hashes []uint64, ok bool) {
	if len(record) < 9 || len(record)%8 != 1 || record[0] != settledFormat {
		return time.Time{}, nil, false
	}
	enqueued = time.Unix(int64(binary.LittleEndian.Uint64(record[1:])), 0)
	hashes = make([]uint64, 0, len(record)/8-1)
	for rest := record[9:]; len(rest) > 0; rest = rest[8:] {
		hashes = append(hashes, binary.LittleEndian.Uint64(rest))
	}
	return enqueued, hashes, slices.IsSorted(hashes)
}
