// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// hookCalls remembers which of the hooks' last calls were not answered.
type hookCalls struct {
	mu         sync.Mutex
	made       bool
	unanswered map[hookCall]error
	// first is the one of them that is told; nil if it has to be found.
	first *hookCall
}

// hookCall is what a hook is asked about a parent.
type hookCall struct {
	hook   string
	parent pipeline.Key
}

func (c hookCall) compare(other hookCall) int {
	return cmp.Or(cmp.Compare(c.hook, other.hook), cmp.Compare(c.parent.Kind, other.parent.Kind),
		cmp.Compare(c.parent.Namespace, other.parent.Namespace), cmp.Compare(c.parent.Name, other.parent.Name))
}

// update notes how a call about the snapshot's parent went, if there was one. An answer that
// cannot be read is an answer, and so is the request to be called later. Calls about earlier
// versions of a parent do not count: those about the present one tell whether the hook is
// there.
func (c *hookCalls) update(hookName string, snapshot *pipeline.Snapshot, err error) {
	if _, notMade := errors.AsType[*hook.CircuitOpenError](err); notMade || snapshot.Present != nil {
		return
	}
	parent := pipeline.KeyOf(snapshot.Parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = true
	// A parent is either synced or finalized: what the other hook did not answer is over.
	switch hookName {
	case hook.Sync:
		c.drop(hookCall{hook.Finalize, parent})
	case hook.Finalize:
		c.drop(hookCall{hook.Sync, parent})
	}
	last := hookCall{hookName, parent}
	if hook.Answered(err) {
		c.drop(last)
		return
	}
	if c.unanswered == nil {
		c.unanswered = map[hookCall]error{}
	}
	c.unanswered[last] = err
	if c.first != nil && last.compare(*c.first) < 0 {
		c.first = &last
	}
}

// drop forgets one call.
func (c *hookCalls) drop(one hookCall) {
	delete(c.unanswered, one)
	if c.first != nil && *c.first == one {
		c.first = nil
	}
}

// forget drops what is remembered of the calls about a parent.
func (c *hookCalls) forget(parent pipeline.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hookName := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		c.drop(hookCall{hookName, parent})
	}
}

// status tells of the calls that were not answered, and whether there were any at all. Of
// several it names one, the same as long as that is among them.
func (c *hookCalls) status() (made bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unanswered) == 0 {
		return c.made, nil
	}
	if c.first == nil {
		first := slices.MinFunc(slices.Collect(maps.Keys(c.unanswered)), hookCall.compare)
		c.first = &first
	}
	err = fmt.Errorf("about %s: %w", c.first.parent, c.unanswered[*c.first])
	if more := len(c.unanswered) - 1; more > 0 {
		err = fmt.Errorf("%w (calls about others were not answered either: %d)", err, more)
	}
	return true, err
}
