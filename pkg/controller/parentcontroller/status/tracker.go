// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Tracker keeps how the last sync of each parent of a controller ended. Its methods may be called concurrently.
type Tracker struct {
	// total is the number of parents, kept up to date by their events. Counting them each time would
	// cost more the more parents there are.
	total atomic.Int64

	mu sync.Mutex
	// parents has an entry for each parent that was synced.
	parents map[object.Key]ParentHealth
	// succeeded, failing, warned, outdated and paused are the sums over the entries.
	succeeded, failing, warned, outdated, paused int
	// shownFailure and shownWarning are the parents whose failure and warnings the status shows, shownPaused is
	// a paused one that it names.
	shownFailure, shownWarning, shownPaused object.Key
	lastError                               *report.ParentError
}

func NewTracker() *Tracker { return &Tracker{parents: map[object.Key]ParentHealth{}} }

// ParentHealth is how the last sync of a parent ended.
type ParentHealth struct {
	// Succeeded is true if the last sync succeeded. failure is the error of the last sync; nil if it
	// Succeeded. Before the first sync has ended, succeeded is false and failure is nil.
	Succeeded bool
	// recovers is true if the end of the failure is worth an event, because there was one about the Failure. The end of a
	// finalization is the end of the parent, so it needs none.
	recovers bool
	Failure  *report.ParentError
	// Warnings are those of the last sync that had a plan: one for each reason, with the messages of all that have it,
	// the most severe one first.
	Warnings []pipeline.Warning
	// warnedByHost is true if the host's response to a write had a warning. The warning may be missing in Warnings,
	// because a later plan did not have it.
	warnedByHost bool
	// outdated is the number of children that this sync left as they are.
	outdated int
	// Paused is true if the parent is paused. Nothing else is set then.
	Paused bool
}

// AddParents adds to the number of parents, which their event handlers count.
func (t *Tracker) AddParents(count int) { t.total.Add(int64(count)) }

// AddTo adds the data of the tracker to the health of a controller. exists reports whether there is such a parent.
func (t *Tracker) AddTo(health *report.Health, exists func(object.Key) bool) {
	health.Total = int(t.total.Load())
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.lastError; last != nil && !health.Uncounted && !exists(last.Parent) {
		t.markRecovered(last.Parent) // it is gone
	}
	health.Synced, health.Failing = t.succeeded, t.failing
	health.LastError, health.Failure = t.lastError, t.failure()
	health.Warned, health.Warning, health.Outdated = t.warned, t.warning(), t.outdated
	if t.paused > 0 {
		health.Paused, health.PausedParent = t.paused, t.pausedParent()
	}
}

// Update notes how the last sync of a parent ended. It returns the failure that has ended, if there was an event
// about it, else nil. An open circuit makes the parent fail, but lastError stays: the call that was not answered
// says more.
func (t *Tracker) Update(parent object.Key, err error) (over *report.ParentError) {
	_, open := errors.AsType[*hook.CircuitOpenError](err)
	_, finalizing := errors.AsType[*UnfinalizedError](err)
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.parents[parent]
	after := before
	after.Paused = false
	switch {
	case err == nil:
		after.Succeeded, after.Failure, after.recovers = true, nil, false
		t.markRecovered(parent)
		if before.recovers {
			over = before.Failure
		}
	case open && before.Failure != nil:
	default:
		after.Succeeded, after.recovers = false, !open && !finalizing
		after.Failure = &report.ParentError{Parent: parent, Message: report.Summary(err), Time: time.Now()}
		if !open {
			t.lastError = after.Failure
		}
	}
	t.set(parent, after)
	return over
}

// UnfinalizedError is the failure of a parent whose finalize hook does not finish.
type UnfinalizedError struct{ Text string }

func (e *UnfinalizedError) Error() string { return e.Text }

// SetFindings records the findings of the last plan about a parent.
func (t *Tracker) SetFindings(parent object.Key, warnings []pipeline.Warning, outdated int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	after := t.parents[parent]
	after.outdated, after.Warnings = outdated, nil
	warnings = slices.SortedStableFunc(slices.Values(warnings),
		func(a, b pipeline.Warning) int { return a.Reason.CompareWeight(b.Reason) })
	for _, warning := range warnings {
		if warning.Chosen {
			continue
		}
		if last := len(after.Warnings) - 1; last >= 0 && after.Warnings[last].Reason == warning.Reason {
			after.Warnings[last].Message += "; " + warning.Message
			continue
		}
		after.Warnings = append(after.Warnings, pipeline.Warning{Reason: warning.Reason, Message: warning.Message})
	}
	t.set(parent, after)
}

// SetWarnedByHost notes that the host's response to a write had a warning.
func (t *Tracker) SetWarnedByHost(parent object.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	after := t.parents[parent]
	after.warnedByHost = true
	t.set(parent, after)
}

// Pause records that a parent is paused. The result of its last sync no longer counts.
func (t *Tracker) Pause(parent object.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(parent, ParentHealth{Paused: true})
}

// Recall notes the last error of an earlier process or spec, until there is another one.
func (t *Tracker) Recall(last *report.ParentError) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastError = last
}

// Forget drops a parent that is gone.
func (t *Tracker) Forget(parent object.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(parent, ParentHealth{})
	delete(t.parents, parent)
	t.markRecovered(parent)
}

// Of returns how the last sync of a parent ended.
func (t *Tracker) Of(parent object.Key) ParentHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parents[parent]
}

// IsFailing reports whether the last sync of a parent failed.
func (t *Tracker) IsFailing(parent object.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parents[parent].Failure != nil
}

// Warned returns the parents whose last plan had warnings, or about which the host has warned.
func (t *Tracker) Warned() (parents []object.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for parent, health := range t.parents {
		if len(health.Warnings) > 0 || health.warnedByHost {
			parents = append(parents, parent)
		}
	}
	return parents
}

// set replaces the entry of a parent.
func (t *Tracker) set(parent object.Key, after ParentHealth) {
	before := t.parents[parent]
	t.succeeded += count(after.Succeeded) - count(before.Succeeded)
	t.failing += count(after.Failure != nil) - count(before.Failure != nil)
	t.warned += count(len(after.Warnings) > 0) - count(len(before.Warnings) > 0)
	t.chooseShown(parent, before.Warnings, after.Warnings)
	t.outdated += after.outdated - before.outdated
	t.paused += count(after.Paused) - count(before.Paused)
	t.parents[parent] = after
}

// chooseShown makes the status show the warnings of a parent if they are graver than the shown ones. If the
// shown ones have become less grave, the status shows the gravest ones.
func (t *Tracker) chooseShown(parent object.Key, before, after []pipeline.Warning) {
	switch {
	case t.shownWarning == parent && areGraver(before, after):
		t.shownWarning = object.Key{}
	case areGraver(after, t.parents[t.shownWarning].Warnings):
		t.shownWarning = parent
	}
}

// areGraver reports whether the warnings of one parent are graver than those of another; none are less grave than any.
func areGraver(warnings, others []pipeline.Warning) bool {
	return len(warnings) > 0 && (len(others) == 0 || warnings[0].Reason.CompareWeight(others[0].Reason) < 0)
}

// failure returns why a failing parent failed; nil if none fails. It is the same parent as before as
// long as that fails.
func (t *Tracker) failure() *report.ParentError {
	if t.failing == 0 {
		return nil
	}
	if t.parents[t.shownFailure].Failure == nil {
		for parent, health := range t.parents {
			if health.Failure != nil {
				t.shownFailure = parent
				break
			}
		}
	}
	return t.parents[t.shownFailure].Failure
}

// warning returns the warnings of the parent with the gravest one; empty if there are none. It is the same parent as
// before as long as no other one has a graver one.
func (t *Tracker) warning() report.ParentWarning {
	if t.warned == 0 {
		return report.ParentWarning{}
	}
	if len(t.parents[t.shownWarning].Warnings) == 0 {
		for parent, health := range t.parents {
			if areGraver(health.Warnings, t.parents[t.shownWarning].Warnings) {
				t.shownWarning = parent
			}
		}
	}
	shown := t.parents[t.shownWarning].Warnings
	messages := make([]string, len(shown))
	for i := range shown {
		messages[i] = shown[i].Message
	}
	return report.ParentWarning{Parent: t.shownWarning, More: t.warned - 1,
		Warning: pipeline.Warning{Reason: shown[0].Reason, Message: strings.Join(messages, "; ")}}
}

// pausedParent returns a paused parent. It returns the same parent for as long as that parent is paused.
func (t *Tracker) pausedParent() object.Key {
	if t.paused > 0 && !t.parents[t.shownPaused].Paused {
		for parent, health := range t.parents {
			if health.Paused {
				t.shownPaused = parent
				break
			}
		}
	}
	return t.shownPaused
}

// markRecovered notes when the parent stopped failing, if the last error is about it.
func (t *Tracker) markRecovered(parent object.Key) {
	if last := t.lastError; last != nil && last.Parent == parent && last.Recovered.IsZero() {
		t.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Recovered: time.Now()}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
