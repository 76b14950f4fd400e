// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Writes of an object are a loop if there are too many of them in a row.
const (
	// maxUndone bounds the writes in a row of the same desired object, each because the object differs from it again
	// within calm after the last write.
	maxUndone = 5
	calm      = time.Minute
	// maxChanging bounds the writes in a row of an object although the state that the hook sees stays the same, each
	// time because the object differs again within soon after the last write. A longer pause decrements the count.
	maxChanging = 20
	soon        = 500 * time.Millisecond
	// A child may vanish after minutes, when something cleans up or when the child expires. An expiring child
	// counts as a loop after maxExpired creations.
	vanishing  = 10 * time.Minute
	expiring   = 24 * time.Hour
	maxExpired = 2
)

// settling is the time for which the hook must keep wanting the same, once it no longer wants what was written again
// and again.
const settling = time.Second

// absent is the desired hash of a child that the hook does not list.
const absent = ^uint64(0)

// The next write of a loop is firstDelay after the last one. The delay doubles with each write, up to maxDelay.
const (
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
)

// history records the writes of one target.
type history struct {
	// parent and parentUID identify the parent for which the target was last written.
	parent    object.Key
	parentUID types.UID
	// last is the time of the last write, op its Op, desired the hash of what the hook wanted, and state the hash of the
	// state that the hook had seen.
	last           time.Time
	op             pipeline.Op
	desired, state uint64
	// path is the field that made the write necessary.
	path string
	// wantedSince is when the target began to need another write; zero if it is up to date.
	wantedSince time.Time
	// undone and changing count the writes in a row, as maxUndone and maxChanging define them.
	undone, changing int
	// loop is the loop that the target is in; nil if there is none. Few targets ever are in one.
	loop *loop
	// isChurn is true if the target stands for all children of a kind. Then made has the children that the hook has
	// wanted since the history began, and deleted is true if one of them was deleted since the last creation. rested is
	// true if a sync since the last write neither created nor deleted any, and related is the hash of the related
	// objects that the hook had seen.
	isChurn, deleted, rested bool
	made                     sets.Set[types.NamespacedName]
	related                  uint64
	// seen is what the hook has wanted of the target since the time seenAt, which is after the last write, and seenState
	// the state that the hook saw then. turned is true if the hook has changed its mind although the state was the same:
	// either its answers are random, or the hook itself was changed.
	seen, seenState uint64
	seenAt          time.Time
	turned          bool
	// pause is the time for which the target existed after its last creation.
	pause time.Duration
	// keep is the time for which the history is kept.
	keep time.Duration
}

// loop is a write loop that is slowed down, by this guard or by the other side.
type loop struct {
	pipeline.WriteLoop
	// until is the time when the latest step may be taken, reported the time of the last report.
	until, reported time.Time
	// rivals are the names of the other controllers that take part, as far as they are known.
	rivals []string
	// ended is true if the hook no longer wants what was written again and again.
	ended bool
}

// isOfFormer reports whether the target was last written for an earlier parent of the same name.
func (h *history) isOfFormer(parent *object.Object) bool {
	return h.parent == object.KeyOf(parent) && h.parentUID != parent.UID
}

// clone returns a copy of the history.
func (h *history) clone() *history {
	clone := *h
	if h.loop != nil {
		loop := *h.loop
		clone.loop = &loop
	}
	return &clone
}

// attempt records that a plan has the step, and reports whether it is too early to take it. It also returns the loop of
// the step if the caller has to report it now. A step that may be taken can also be in a loop: if two sides undo each
// other's writes, the side that was slowed down first sets the pace, and the steps of the other side are never too
// early.
func (h *history) attempt(step *pipeline.Step, state *state, now time.Time) (early bool, report []pipeline.WriteLoop) {
	hasEnded := h.loop != nil && h.noteDesired(step.Desired, state.full(), now)
	if !step.Op.FormsWriteLoops() {
		h.wantedSince = time.Time{}
		return false, nil
	}
	if h.wantedSince.IsZero() {
		h.wantedSince = now
	}
	if h.completesRecreate(step) {
		return false, nil
	}
	undone, changing := h.counts(step, state)
	excess := max(undone-mostUndone(step), changing-maxChanging)
	vanishes := step.Creates() && !h.isChurn
	if excess <= 0 || hasEnded || !vanishes && now.Sub(h.last) >= 2*delay(excess) {
		return false, nil
	}
	if vanishes {
		h.pause = now.Sub(h.last)
	}
	until := h.last.Add(delay(excess))
	early = until.After(now)
	if h.loop == nil {
		h.loop = &loop{}
	}
	h.loop.until, h.loop.ended = until, false
	h.loop.WriteLoop = pipeline.WriteLoop{
		Parent: object.KeyOf(state.snapshot.Parent),
		Object: step.Key(), OfParent: step.Op.OnParent(), OfStatus: step.Op == pipeline.Status,
		Op: step.Op, Expires: vanishes && expires(step), OfNames: h.isChurn,
		Path:          step.Path,
		AnswerChanges: undone <= mostUndone(step),
		Writes:        max(undone, changing) - 1,
		Next:          until,
	}
	if !h.loop.AnswerChanges {
		h.loop.Has, h.loop.Wants = alternating(step)
	}
	if !early {
		h.loop.Writes++
		h.loop.Next = now.Add(delay(excess + 1))
	}
	if h.loop.isReportDue(now) {
		h.loop.reported = now
		report = []pipeline.WriteLoop{h.loop.WriteLoop}
	}
	return early, report
}

// counts returns the values that undone and changing get when the step is taken.
func (h *history) counts(step *pipeline.Step, state *state) (undone, changing int) {
	undone, changing = 1, 1
	pause := h.wantedSince.Sub(h.last)
	if h.desired == step.Desired && pause < window(step) && !h.isChurn {
		undone += h.undone
	}
	switch {
	case h.state != state.hashFor(step) || pause >= calm:
	case pause < soon, h.isRestless(state):
		changing += h.changing
	default: // a busy machine may be slow at times
		changing = max(h.changing-1, 1)
	}
	return undone, changing
}

// isRestless reports whether the children of a kind are replaced by each sync although the hook sees the same related
// objects. It does not depend on the time between syncs, which is long if many parents are synced.
func (h *history) isRestless(state *state) bool {
	return h.isChurn && !h.rested && h.related == state.related()
}

// completesRecreate reports whether the step creates a child that was deleted to be created
// again.
func (h *history) completesRecreate(step *pipeline.Step) bool {
	return h.op == pipeline.Recreate && step.Creates()
}

// wrote records a step that was taken.
func (h *history) wrote(step *pipeline.Step, state *state, now time.Time) {
	if !h.completesRecreate(step) {
		h.undone, h.changing = h.counts(step, state)
		if h.undone <= mostUndone(step) && h.changing <= maxChanging {
			h.loop = nil
		}
	}
	h.seenAt, h.turned = time.Time{}, false
	h.keep = calm
	if step.Creates() {
		h.keep = window(step)
	}
	h.last, h.op, h.desired, h.state, h.wantedSince = now, step.Op, step.Desired, state.hashFor(step), time.Time{}
	h.path, h.parent, h.parentUID = step.Path, object.KeyOf(state.snapshot.Parent), state.snapshot.Parent.UID
}

// noteDesired records the desired state of the target of a loop. It reports whether the loop has ended because the
// desired state now differs constantly from the one that was written repeatedly.
func (h *history) noteDesired(desired, full uint64, now time.Time) bool {
	switch {
	case h.seenAt.IsZero():
		h.seen, h.seenState, h.seenAt = desired, full, now
	case h.seen == desired:
		other := h.turned || !h.loop.AnswerChanges && desired != h.desired
		h.loop.ended = h.loop.ended || other && now.Sub(h.seenAt) >= settling
	default:
		h.turned = h.seenState == full
		h.seen, h.seenState, h.seenAt = desired, full, now
	}
	return h.loop.ended
}

// window returns the maximum pause after which a repeated write counts as undone.
func window(step *pipeline.Step) time.Duration {
	switch {
	case !step.Creates():
		return calm
	case expires(step):
		return expiring
	}
	return vanishing
}

// mostUndone returns how many times in a row the same desired object may be written.
func mostUndone(step *pipeline.Step) int {
	if step.Creates() && expires(step) {
		return maxExpired
	}
	return maxUndone
}

// expires reports whether the host deletes a new object when it has finished.
func expires(step *pipeline.Step) bool {
	return object.Lookup(object.Lookup(step.Body, "spec"), "ttlSecondsAfterFinished") != nil
}

// delay returns the time from the last write to the next one. The excess is the number of writes above the limit.
func delay(excess int) time.Duration {
	const doublings = 9 // from firstDelay to more than maxDelay
	return min(firstDelay<<min(excess-1, doublings), maxDelay)
}

// isReportDue reports whether the loop was not reported yet, or not for some time.
func (l *loop) isReportDue(now time.Time) bool {
	return l.reported.IsZero() || now.Sub(l.reported) >= pipeline.EventRepeatInterval
}

// isOver reports whether the history is no longer needed because the target has not needed a write for long enough.
func (h *history) isOver(now time.Time) bool {
	if h.loop == nil {
		return now.Sub(h.last) > max(h.keep, calm)
	}
	return now.After(h.end())
}

// end returns the time when the loop will have ended if nothing more is written.
func (h *history) end() time.Time {
	if h.loop.ended {
		return h.last.Add(settling)
	}
	return latest(h.last, h.loop.until).Add(max(calm, 2*h.pause))
}

// state is the state of the host that a hook sees. While it stays the same, the hook has no reason to change
// its answer.
type state struct {
	snapshot *pipeline.Snapshot
	// others is the hash of the objects other than the parent, once computed is true.
	others   uint64
	computed bool
}

// hashFor returns the hash of the state that determines the desired object of a step.
//
// For a child, this is the parent without its status. It does not include the children: writing children changes them
// and, through controllers of the host, their status, so a loop would hide itself.
//
// For the parent's status, and for a target's labels and annotations, it includes the children and the related objects,
// because these fields often describe them and may change as often as they do. It leaves out the fields that the step
// itself writes.
func (s *state) hashFor(step *pipeline.Step) uint64 {
	switch step.Op {
	case pipeline.Status:
		return s.withOthers(s.snapshot.Parent.Hash)
	case pipeline.Metadata:
		return s.withOthers(s.snapshot.Parent.ContentHash())
	default:
		return s.snapshot.Parent.Hash
	}
}

// full returns the hash of everything that a hook sees except the status of the parent.
func (s *state) full() uint64 { return s.withOthers(s.snapshot.Parent.Hash) }

// withOthers adds the hash of the objects other than the parent to the hash of the parent.
func (s *state) withOthers(parent uint64) uint64 {
	if !s.computed {
		s.computed, s.others = true, s.hashOthers()
	}
	return parent + s.others
}

// related returns the hash of the related objects.
func (s *state) related() (sum uint64) {
	for _, one := range s.snapshot.RelatedObjects() {
		sum += hashOf(one)
	}
	return sum
}

// hashOthers returns the hash of the children and the related objects.
func (s *state) hashOthers() uint64 {
	sum := s.related()
	for _, group := range s.snapshot.Children {
		for _, child := range group.Claimed {
			sum += hashOf(child)
		}
	}
	return sum
}

// hashOf returns the hash of an object. Those of several are added up, because caches do not keep their order.
func hashOf(one *object.Object) uint64 {
	return xxhash.Sum64String(string(one.UID) + one.ResourceVersion)
}

// alternating returns the two values of the field that a step sets, as JSON: the one that the object has and the one
// that the hook wants. Both are empty for Secrets, and if one of them is neither a number nor a boolean. Strings may
// be confidential in objects of any kind, and users who may not read the object may read the status of a
// cluster-scoped controller.
func alternating(step *pipeline.Step) (has, wants string) {
	if step.Path == "" || step.Observed == nil || step.Type.Kind == "Secret" {
		return "", ""
	}
	has, wants = shownAt(step.Observed.JSON(), step.Path), shownAt(step.Body, step.Path)
	if has == "" || wants == "" {
		return "", ""
	}
	return has, wants
}

// shownAt returns the number or boolean at a path in the form of plans; empty if there is none.
func shownAt(raw []byte, path string) string {
	value := jsontext.Value(valueAt(raw, path))
	switch value.Kind() {
	case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
		return string(value)
	}
	return ""
}

// valueAt returns the value at a path such as spec.items[0].a or metadata.labels[a]; nil if there is none. A name may
// contain dots.
func valueAt(raw []byte, path string) []byte {
	if raw == nil || path == "" {
		return raw
	}
	if rest, indexed := strings.CutPrefix(path, "["); indexed {
		inner, below, _ := strings.Cut(rest, "]")
		below = strings.TrimPrefix(below, ".")
		if index, err := strconv.Atoi(inner); err == nil && strings.HasPrefix(string(raw), "[") {
			return valueAt(element(raw, index), below)
		}
		return valueAt(object.Lookup(raw, inner), below)
	}
	if value := object.Lookup(raw, path); value != nil {
		return value
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return nil
	}
	return valueAt(object.Lookup(raw, path[:end]), strings.TrimPrefix(path[end:], "."))
}

// element returns an item of a list; nil if the list is shorter.
func element(list []byte, at int) (found []byte) {
	_ = object.Elements(list, func(index int, item []byte) error {
		if index == at {
			found = item
		}
		return nil
	})
	return found
}
