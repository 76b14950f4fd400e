// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// Reporter writes events about the parents of a controller, and records their part of the status in its Tracker. Its
// methods may be called concurrently.
type Reporter struct {
	*Tracker
	Events *report.Events
	// Guard finds the write loops of the controller, and Rivals those that are also of others.
	Guard  *writeloop.Guard
	Rivals *writeloop.Registry
	// Repeat is true if each warning and error gets an event each time.
	Repeat bool
	types  typeWarnings
}

// Reported records the events about a parent so that the next sync does not repeat them.
type Reported struct {
	warnings reportedWarnings
	// hookEvents are the keys of the events of the hook's last answer; nil if it had none.
	hookEvents sets.Set[uint64]
	// isFinalizing is true if the parent is finalized although it is not being deleted.
	isFinalizing bool
	// rollout is nil if the controller rolls out nothing.
	rollout *rolloutEvents
	// Each of these repeats one sort of event about the parent not too often.
	syncErrors, nameConflicts deduplicator
}

// Reset forgets the events about an earlier parent of the same name.
func (r *Reported) Reset() {
	*r = Reported{rollout: r.rollout, nameConflicts: r.nameConflicts}
}

// ResetSyncErrors records that the last failure has ended: the next one gets an event, even if it is the same.
func (r *Reported) ResetSyncErrors() { r.syncErrors = deduplicator{} }

// deduplicator is the last event of one sort about a parent. A retry that fails like the one
// before writes no event. The host takes a limited number of events about a parent, so events about
// retries would keep the next error from being seen.
type deduplicator struct {
	message uint64 // its hash
	at      int64  // in seconds since 1970
}

// markIfDue returns false if the last event had the same message and is recent. Otherwise it returns true and keeps
// the message as the message of the last event.
func (e *deduplicator) markIfDue(message string, now time.Time) bool {
	next := deduplicator{message: xxhash.Sum64String(message), at: now.Unix()}
	since := next.at - e.at // negative if the clock was put back
	if next.message == e.message && since >= 0 && since < int64(pipeline.EventRepeatInterval.Seconds()) {
		return false
	}
	*e = next
	return true
}

// isDue reports whether an event of this message is written: a repeated one only after a while or, with
// Repeat, each time.
func (r *Reporter) isDue(events *deduplicator, message string) bool {
	return events.markIfDue(message, time.Now()) || r.Repeat
}

// SyncEnded notes how the last sync of a parent ended, and writes an event if the parent has recovered. parent returns
// the parent, nil if there is none.
func (r *Reporter) SyncEnded(key object.Key, err error, parent func(object.Key) *object.Object) {
	over := r.Update(key, err)
	if over == nil {
		return
	}
	if found := parent(key); found != nil {
		r.Events.SyncRecovered(found, over)
	}
}

// SyncError writes an event about a failed sync.
func (r *Reporter) SyncError(reported *Reported, parent *object.Object, err error) {
	if r.isDue(&reported.syncErrors, err.Error()) {
		r.Events.SyncError(parent, err)
	}
}

// Stalled writes an event about a parent whose syncs have waited for too long. The reason may differ each time: one
// event is enough for one wait. Stalled reports whether it wrote one.
func (r *Reporter) Stalled(reported *Reported, parent *object.Object, wait string, err error) bool {
	isDue := reported.syncErrors.markIfDue("stalled "+wait, time.Now())
	if isDue {
		r.Events.SyncStalled(parent, err)
	}
	return isDue
}

// Unfinalized is Stalled for a parent whose finalize hook does not finish.
func (r *Reporter) Unfinalized(reported *Reported, parent *object.Object, wait string, err error) bool {
	isDue := reported.syncErrors.markIfDue("unfinalized "+wait, time.Now())
	if isDue {
		r.Events.FinalizeWaiting(parent, err)
	}
	return isDue
}

// NameConflicts writes one event about all children whose names other objects have. The error is
// nil if there are none.
func (r *Reporter) NameConflicts(reported *Reported, parent *object.Object, err error) {
	if err != nil && r.isDue(&reported.nameConflicts, err.Error()) {
		r.Events.NameConflict(parent, err)
	}
}

// Adoptions writes one event about all objects that a sync has adopted. It is not about children that a reference
// of another version already made the parent's.
func (r *Reporter) Adoptions(parent *object.Object, outcomes []pipeline.Outcome) {
	var adopted []string
	for i := range outcomes {
		outcome := &outcomes[i]
		if outcome.Op == pipeline.Adopt && outcome.Result != nil && metav1.GetControllerOfNoCopy(outcome.Observed) == nil {
			adopted = append(adopted, outcome.Key().String())
		}
	}
	if len(adopted) > 0 {
		r.Events.Adopted(parent, text.JoinFirst(MaxListed, adopted))
	}
}

// MaxListed bounds the objects that a message names.
const MaxListed = 5

// Finalizing writes an event when a parent that is not being deleted begins to be finalized.
func (r *Reporter) Finalizing(reported *Reported, snapshot *pipeline.Snapshot) {
	isFinalizing := snapshot.Finalizing && snapshot.Parent.DeletionTimestamp == nil
	if isFinalizing && !reported.isFinalizing {
		r.Events.Finalizing(snapshot.Parent, snapshot.Finalizer)
	}
	reported.isFinalizing = isFinalizing
}

// HookEvents writes the events of an answer that the last answer about the parent did not have. A hook returns the
// same answer as long as nothing changes, so each event is written once.
func (r *Reporter) HookEvents(reported *Reported, snapshot *pipeline.Snapshot, events []pipeline.HookEvent) {
	var keys sets.Set[uint64]
	for _, event := range events {
		key := xxhash.Sum64String(fmt.Sprintf("%v %q %q %v", event.Warning, event.Reason, event.Message, event.Child))
		if !reported.hookEvents.Has(key) && !keys.Has(key) {
			r.Events.OfHook(snapshot.Parent, subjectOf(snapshot, event.Child), event)
		}
		if keys == nil {
			keys = sets.New[uint64]()
		}
		keys.Insert(key)
	}
	reported.hookEvents = keys
}

// subjectOf returns the child that an event is about, and the parent if there is no such child.
func subjectOf(snapshot *pipeline.Snapshot, child *pipeline.HookEventChild) *object.Object {
	if child == nil {
		return snapshot.Parent
	}
	namespace := child.Namespace
	if namespace == "" {
		namespace = snapshot.Parent.Namespace
	}
	for _, group := range snapshot.Children {
		if group.Type.Group != child.Group || group.Type.Kind != child.Kind {
			continue
		}
		for _, claimed := range group.Claimed {
			if claimed.Name == child.Name && (claimed.Namespace == namespace || claimed.Namespace == "") {
				return claimed
			}
		}
	}
	return snapshot.Parent
}

// WriteLoops writes an event about the write loops of a parent, if there are any. The guard
// returns a loop only when an event about it is due.
func (r *Reporter) WriteLoops(parent *object.Object, loops []pipeline.WriteLoop, now time.Time) {
	if len(loops) > 0 {
		r.AddRivals(loops)
		r.Events.WriteLoop(parent, loops, now)
	}
}

// AddRivals adds to the loops the other controllers that take part in them, as far as they are
// known.
func (r *Reporter) AddRivals(loops []pipeline.WriteLoop) {
	for i := range loops {
		loops[i].Rivals = r.Rivals.Rivals(r.Guard, loops[i])
	}
}

// WriteLoopError returns why a parent that is in write loops is failing.
func (r *Reporter) WriteLoopError(parent object.Key) error {
	loops := r.Guard.LoopsOf(parent, time.Now())
	if len(loops) == 0 {
		return ErrCalmingDown
	}
	r.AddRivals(loops)
	return errors.New(report.WriteLoopsOfParent(loops))
}

// ErrCalmingDown is the error of a parent whose write loops have just ended.
var ErrCalmingDown = errors.New("a write loop seems to have ended; this object counts as synced when no write was " +
	"undone for one minute; no action is needed")
