// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/replicas"
)

// Sharing decides which controllers this replica runs. It only decides: a worker of the Reconciler takes a
// controller over or gives it away (claim).
type Sharing struct {
	membership  *replicas.Membership
	reconcilers []*Reconciler
	// dirty has an element if something may have changed that is decided from.
	dirty   chan struct{}
	metrics *SharingMetrics
	// offers is used by decide only.
	offers replicas.Offers

	mu sync.Mutex
	// assigned is the replica that is to run each controller.
	assigned map[unitID]string
}

// unitID names a unit among those of both kinds.
type unitID struct {
	kind string
	unit
}

func (u unitID) String() string { return u.kind + "/" + u.unit.String() }

const (
	// decidePeriod is how often it is decided at least: parents come and go, and replicas die.
	decidePeriod = time.Second
	// decideDelay is how long changes are waited for that come together.
	decideDelay = 20 * time.Millisecond
	// baseWeight is how many parents a controller without any counts for.
	baseWeight = 10
)

// Share has reconcilers run only the controllers that fall to this replica. It is called before they run.
func Share(membership *replicas.Membership, metrics *SharingMetrics, reconcilers ...*Reconciler) *Sharing {
	s := &Sharing{membership: membership, reconcilers: reconcilers, dirty: make(chan struct{}, 1), metrics: metrics, assigned: map[unitID]string{}}
	for _, reconciler := range reconcilers {
		reconciler.sharing = s
	}
	return s
}

// Run decides until ctx ends. The caller starts the informers.
func (s *Sharing) Run(ctx context.Context) error {
	defer s.metrics.set(0, 0)
	s.membership.OnChange(s.changed)
	for _, reconciler := range s.reconcilers {
		informer := reconciler.api.informer()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { s.changed() }, UpdateFunc: func(_, _ any) { s.changed() }, DeleteFunc: func(any) { s.changed() },
		})
		if err != nil {
			return fmt.Errorf("follow %ss: %w", reconciler.kind.Name, err)
		}
		if !cache.WaitFor(ctx, reconciler.kind.Name+"s", informer.HasSyncedChecker()) {
			return nil
		}
	}
	ticker := time.NewTicker(decidePeriod)
	defer ticker.Stop()
	for {
		s.decide(ctx)
		select {
		case <-ticker.C:
		case <-s.dirty:
			if !pause(ctx, decideDelay) {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// pause waits for so long. It reports whether ctx has not ended before.
func pause(ctx context.Context, delay time.Duration) bool {
	select {
	case <-time.After(delay):
		return true
	case <-ctx.Done():
		return false
	}
}

// changed has it decided soon.
func (s *Sharing) changed() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// decide assigns the controllers to replicas, and enqueues those that this one is to take or to give away.
func (s *Sharing) decide(ctx context.Context) {
	type found struct {
		unitID
		reconciler *Reconciler
		runner     string
		free       bool
	}
	byID, units := map[string]found{}, []replicas.Unit(nil)
	for _, reconciler := range s.reconcilers {
		objects, err := reconciler.api.list()
		if err != nil {
			return // an informer does not fail
		}
		for _, object := range objects {
			for _, unit := range reconciler.unitsOf(object) {
				of := found{reconciler.idOf(unit), reconciler, runnerOf(object, unit), s.isFree(object, unit)}
				byID[of.String()] = of
				units = append(units, replicas.Unit{ID: of.String(), Weight: weightOf(object, unit), Runner: of.runner})
			}
		}
	}
	alive, me, now := s.membership.Alive(), s.membership.Name(), time.Now()
	assigned, offered := make(map[unitID]string, len(units)), map[string]string{}
	withoutRunner := 0
	for id, replica := range replicas.Assign(alive, s.offers.Takers(alive, now), units) {
		assigned[byID[id].unitID] = replica
		if byID[id].free && replica != me {
			offered[id] = replica
		}
	}
	runnerOf := func(id string) string { return byID[id].runner }
	for _, replica := range s.offers.Note(offered, runnerOf, now) {
		klog.FromContext(ctx).Info("A replica does not take the controllers that fall to it, others take them", "slow", replica)
	}
	s.mu.Lock()
	s.assigned = assigned
	s.mu.Unlock()
	for _, of := range byID {
		if of.free {
			withoutRunner++
		}
		mine, toBeMine := of.runner == me, assigned[of.unitID] == me
		if mine != toBeMine && (mine || of.free) {
			of.reconciler.queue.Add(of.unit)
		}
	}
	s.metrics.set(len(alive), withoutRunner)
}

// isFree reports whether this replica may run a unit: nobody else runs it, or a part of the controller as it was split
// before.
func (s *Sharing) isFree(object controllerObject, of unit) bool {
	return s.areGone(runnerOf(object, of)) && s.areGone(formerRunnersOf(object, of)...)
}

// areGone reports whether none of the replicas runs anything.
func (s *Sharing) areGone(runners ...string) bool {
	return !slices.ContainsFunc(runners, func(runner string) bool { return runner != "" && !s.membership.IsDead(runner) })
}

// isMine reports whether this replica is to run a controller.
func (s *Sharing) isMine(unit unitID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assigned[unit] == s.membership.Name()
}

// weightOf returns how much work a unit is: as much as it has parents.
func weightOf(object controllerObject, of unit) int {
	weight := baseWeight
	if parents := report.OfShard(object.GetStatus(), of.shard).Parents; parents != nil {
		weight += int(parents.Total)
	}
	return weight
}
