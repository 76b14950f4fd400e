// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// parents holds what is known of each parent.
type parents struct {
	mu    sync.Mutex
	byKey map[pipeline.Key]*memory
	// synced tells of each parent that was synced whether it went well, and failing counts
	// those of which it did not.
	synced    map[pipeline.Key]bool
	failing   int
	lastError *report.ParentError

	// total counts the parents that the watches have told of so far. Counting them anew for
	// every status would cost the more the more there are.
	total atomic.Int64
}

func newParents() *parents {
	return &parents{
		byKey:  map[pipeline.Key]*memory{},
		synced: map[pipeline.Key]bool{},
	}
}

func (p *parents) get(parent pipeline.Key) *memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byKey[parent]
	if known == nil {
		known = &memory{}
		p.byKey[parent] = known
	}
	return known
}

func (p *parents) forget(parent pipeline.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byKey, parent)
	p.drop(parent)
	if last := p.lastError; last != nil && last.Parent == parent && last.Over.IsZero() {
		p.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Over: time.Now()}
	}
}

// record notes how a sync went. One that was put off, by the hook, by related objects
// that are not listed yet, by somebody who changed the parent meanwhile or because the
// parent is written too often, has not gone at all. Of one whose hook is down the call that
// was not answered tells more.
func (p *parents) record(parent pipeline.Key, err error) {
	if isThrottled(err) || isWaiting(err) || errors.Is(err, errOvertaken) || isTooEarly(err) {
		return
	}
	_, down := errors.AsType[*hook.CircuitOpenError](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(parent)
	p.synced[parent] = err == nil
	if err != nil {
		p.failing++
	}
	switch last := p.lastError; {
	case err != nil && !down:
		p.lastError = &report.ParentError{Parent: parent, Message: err.Error(), Time: time.Now()}
	case err == nil && last != nil && last.Parent == parent && last.Over.IsZero():
		p.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Over: time.Now()}
	}
}

// drop takes out how the last sync of a parent went.
func (p *parents) drop(parent pipeline.Key) {
	if well, synced := p.synced[parent]; synced && !well {
		p.failing--
	}
	delete(p.synced, parent)
}

func isThrottled(err error) bool {
	_, later := errors.AsType[*hook.ThrottledError](err)
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

// Health tells how the controller is doing. What it costs does not depend on how many
// parents there are.
func (c *Controller) Health() report.Health {
	health := report.Health{Loops: c.loops(), Total: int(c.parents.total.Load())}
	health.HookCalled, health.HookErr = c.calls.error()
	health.Stale = c.stale.error()

	c.parents.mu.Lock()
	defer c.parents.mu.Unlock()
	health.Synced, health.Failing = len(c.parents.synced)-c.parents.failing, c.parents.failing
	health.LastError = c.parents.lastError
	return health
}
