// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// When writes make a loop.
const (
	// mostUndone is how many times in a row the same wish may be written, each time
	// because it is no longer fulfilled within calm after the last time.
	mostUndone = 5
	calm       = time.Minute
	// mostRestless is how many times in a row an object may be written although what the
	// wish is made from stays as it is, each time because it differs again within soon after
	// the last time. A longer rest takes one off the count.
	mostRestless = 20
	soon         = 500 * time.Millisecond
)

// The next write of a loop is the first delay after the last one, and the delay doubles up to the
// longest.
const (
	firstDelay   = time.Second
	longestDelay = 5 * time.Minute
)

// record is what is known of the writes of one object.
type record struct {
	// last is when it was written, op how, wish the hash of what the hook wanted, and inputs
	// that of what the wish was made from.
	last         time.Time
	op           pipeline.Op
	wish, inputs uint64
	// path is the field because of which it was written.
	path string
	// wanted is since when it is to be written again, zero if it is as it should be.
	wanted time.Time
	// undone and restless count the writes in a row, in the sense of the constants.
	undone, restless int
	// held is there once a write was held back, or nearly was. Of most objects none ever is.
	held *held
}

// held is a loop that is slowed down, by us or by the other side.
type held struct {
	pipeline.WriteLoop
	// until is when the step that was looked at last may be taken, told when people were told last.
	until, told time.Time
	// rivals are the other controllers that were seen to take part.
	rivals []string
}

// holds tells whether it is too early for a step, and notes whether there is something to write. News is the loop
// that the step is of, if people are to be told of it now. Also a step that may be taken can be of one: where two
// sides undo each other's writes, the one that was held back first gives the pace, and the other is always just in
// time.
func (r *record) holds(step *pipeline.Step, inputs *inputs, now time.Time) (early bool, news []pipeline.WriteLoop) {
	if !watched(step.Op) {
		r.wanted = time.Time{}
		return false, nil
	}
	if r.wanted.IsZero() {
		r.wanted = now
	}
	if r.comesBack(step) {
		return false, nil
	}
	undone, restless := r.counts(step, inputs)
	late := max(undone-mostUndone, restless-mostRestless)
	if late <= 0 || now.Sub(r.last) >= 2*delay(late) {
		return false, nil
	}
	until := r.last.Add(delay(late))
	early = until.After(now)
	if r.held == nil {
		r.held = &held{}
	}
	r.held.until = until
	r.held.WriteLoop = pipeline.WriteLoop{
		Parent: pipeline.KeyOf(inputs.snapshot.Parent),
		Object: step.Key(), OfParent: ofParent(step.Op), OfStatus: step.Op == pipeline.Status,
		Path:          step.Path,
		AnswerChanges: undone <= mostUndone,
		Writes:        max(undone, restless) - 1,
		Next:          until,
	}
	if !early {
		r.held.Writes++
		r.held.Next = now.Add(delay(late + 1))
	}
	if r.held.isNews(now) {
		news = []pipeline.WriteLoop{r.held.WriteLoop}
	}
	return early, news
}

// counts are what undone and restless become when the step is taken.
func (r *record) counts(step *pipeline.Step, inputs *inputs) (undone, restless int) {
	undone, restless = 1, 1
	rested := r.wanted.Sub(r.last)
	if r.wish == step.Desired && rested < calm {
		undone += r.undone
	}
	switch {
	case r.inputs != inputs.of(step) || rested >= calm:
	case rested < soon:
		restless += r.restless
	default: // a busy machine may be slow now and then
		restless = max(r.restless-1, 1)
	}
	return undone, restless
}

// comesBack tells whether the step only creates what was deleted for that.
func (r *record) comesBack(step *pipeline.Step) bool {
	return r.op == pipeline.Recreate && step.Creates()
}

// wrote notes that a step was taken.
func (r *record) wrote(step *pipeline.Step, inputs *inputs, now time.Time) {
	if !r.comesBack(step) {
		r.undone, r.restless = r.counts(step, inputs)
		if r.undone <= mostUndone && r.restless <= mostRestless {
			r.held = nil
		}
	}
	r.last, r.op, r.wish, r.inputs, r.wanted = now, step.Op, step.Desired, inputs.of(step), time.Time{}
	r.path = step.Path
}

// delay is how long after the last write the next one is, when that many were too many.
func delay(late int) time.Duration {
	const doublings = 9 // from the first delay beyond the longest
	return min(firstDelay<<min(late-1, doublings), longestDelay)
}

// isNews tells whether people are to be told of the loop, and takes it that they are.
func (h *held) isNews(now time.Time) bool {
	if !h.told.IsZero() && now.Sub(h.told) < pipeline.EventRepeatInterval {
		return false
	}
	h.told = now
	return true
}

// over tells whether the object has not been in need of a write for long enough.
func (r *record) over(now time.Time) bool {
	return now.Sub(r.last) > calm && (r.held == nil || now.Sub(r.held.until) > calm)
}
