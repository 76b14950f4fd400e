// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// calls remembers which of the hooks' last calls were not answered.
type calls struct {
	mu         sync.Mutex
	made       bool
	unanswered map[call]error
}

// call is what a hook is asked about a parent.
type call struct {
	hook   string
	parent stage.Key
}

// record notes how a call about the snapshot's parent went, if there was one. An answer that
// cannot be read is an answer, and so is the request to be called later. Calls about earlier
// versions of a parent do not count: those about the present one tell whether the hook is
// there.
func (c *calls) record(hookName string, snapshot *stage.Snapshot, err error) {
	if _, notMade := errors.AsType[*hook.Down](err); notMade || snapshot.Earlier {
		return
	}
	parent := stage.KeyOf(snapshot.Parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = true
	// A parent is either synced or finalized: what the other hook did not answer is over.
	switch hookName {
	case hook.Sync:
		delete(c.unanswered, call{hook.Finalize, parent})
	case hook.Finalize:
		delete(c.unanswered, call{hook.Sync, parent})
	}
	if hook.Answered(err) {
		delete(c.unanswered, call{hookName, parent})
		return
	}
	if c.unanswered == nil {
		c.unanswered = map[call]error{}
	}
	c.unanswered[call{hookName, parent}] = err
}

// forget drops what is remembered of the calls about a parent.
func (c *calls) forget(parent stage.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.unanswered, func(call call, _ error) bool { return call.parent == parent })
}

// error tells of the calls that were not answered, and whether there were any at all. Of
// several it names one, the same as long as that is among them.
func (c *calls) error() (made bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unanswered) == 0 {
		return c.made, nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(c.unanswered)), func(a, b call) int {
		return cmp.Or(cmp.Compare(a.hook, b.hook), cmp.Compare(a.parent.String(), b.parent.String()))
	})
	err = fmt.Errorf("about %s: %w", first.parent, c.unanswered[first])
	if more := len(c.unanswered) - 1; more > 0 {
		err = fmt.Errorf("%w (calls about others were not answered either: %d)", err, more)
	}
	return true, err
}
