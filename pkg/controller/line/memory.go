// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// memory is what one sync of a parent leaves to the next. Only the worker that
// syncs the parent uses it.
type memory struct {
	// uid is whose memory it is; empty before the first sync.
	uid     types.UID
	pending observe.Pending
	// awaits is since when the caches have not shown the last writes; zero if they have.
	awaits  time.Time
	settled plan.Settled
	related related.Answer
	// earlier are what related is about earlier versions of the parent, by the names of
	// their revisions.
	earlier   map[string]*related.Answer
	revisions revisions.Pending
	rollout   rolloutNews
	// told is about the last error, taken about the children whose names are taken,
	// duplicates about the children that were last listed twice.
	told, taken, duplicates told
}

// keepEarlier has earlier hold an answer about each of the revisions, and returns those that
// are about none of them.
func (m *memory) keepEarlier(revisions []*rollout.Revision) (gone []*related.Answer) {
	kept := make(map[string]*related.Answer, len(revisions))
	for _, revision := range revisions {
		kept[revision.Name] = cmp.Or(m.earlier[revision.Name], &related.Answer{})
		delete(m.earlier, revision.Name)
	}
	gone = slices.Collect(maps.Values(m.earlier))
	m.earlier = kept
	return gone
}

// answers are those of the customize hook.
func (m *memory) answers() []*related.Answer {
	return append(slices.Collect(maps.Values(m.earlier)), &m.related)
}

// told is what the last event of a sort about a parent said. The retries that fail alike
// are not worth one each: they would use up the events a parent may have, and the
// next error would go unheard.
type told struct {
	message string
	at      time.Time
}

// tellAgainAfter is how long the same goes on without another event.
const tellAgainAfter = 5 * time.Minute

// news tells whether an event with the message is due.
func (t *told) news(message string, now time.Time) bool {
	if message != t.message || now.Sub(t.at) >= tellAgainAfter {
		*t = told{message: message, at: now}
		return true
	}
	return false
}

// parents holds what is known of each parent.
type parents struct {
	mu    sync.Mutex
	byKey map[stage.Key]*memory
	// synced tells of each parent that was synced whether it went well.
	synced    map[stage.Key]bool
	lastError *report.ParentError
}

func newParents() *parents {
	return &parents{
		byKey:  map[stage.Key]*memory{},
		synced: map[stage.Key]bool{},
	}
}

func (p *parents) get(parent stage.Key) *memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byKey[parent]
	if known == nil {
		known = &memory{}
		p.byKey[parent] = known
	}
	return known
}

func (p *parents) forget(parent stage.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byKey, parent)
	delete(p.synced, parent)
	if last := p.lastError; last != nil && last.Parent == parent && last.Over.IsZero() {
		p.lastError = &report.ParentError{Parent: parent, Err: last.Err, Time: last.Time, Over: time.Now()}
	}
}

// record notes how a sync went. One that was put off, by the hook, by related objects
// that are not listed yet, by somebody who changed the parent meanwhile or because the
// parent is written too often, has not gone at all. Of one whose hook is down the call that
// was not answered tells more.
func (p *parents) record(parent stage.Key, err error) {
	if isThrottled(err) || isWaiting(err) || errors.Is(err, errOvertaken) || isTooEarly(err) {
		return
	}
	_, down := errors.AsType[*hook.Down](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced[parent] = err == nil
	switch last := p.lastError; {
	case err != nil && !down:
		p.lastError = &report.ParentError{Parent: parent, Err: err, Time: time.Now()}
	case err == nil && last != nil && last.Parent == parent && last.Over.IsZero():
		p.lastError = &report.ParentError{Parent: parent, Err: last.Err, Time: last.Time, Over: time.Now()}
	}
}

func isThrottled(err error) bool {
	_, later := errors.AsType[*hook.Throttled](err)
	return later
}

func isTooEarly(err error) bool {
	_, early := errors.AsType[*tooEarly](err)
	return early
}

func isWaiting(err error) bool {
	_, waiting := errors.AsType[*related.Waiting](err)
	return waiting
}

// Health tells how the controller is doing.
func (c *Controller) Health() report.Health {
	health := report.Health{Loops: c.loops(), Total: len(c.observer.Parents())}
	health.HookCalled, health.HookErr = c.calls.error()
	health.Stale = c.stale.error()

	c.parents.mu.Lock()
	defer c.parents.mu.Unlock()
	for _, well := range c.parents.synced {
		if well {
			health.Synced++
		} else {
			health.Failing++
		}
	}
	health.LastError = c.parents.lastError
	return health
}
