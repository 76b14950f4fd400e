// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// HookCalls records which hooks did not answer their last call about a parent. Its methods may be
// called concurrently.
type HookCalls struct {
	mu sync.Mutex
	// made is true once a hook was called.
	made       bool
	unanswered map[hookCall]error
	// first is the call that status names; nil if it has to be found.
	first *hookCall
}

// hookCall is the call of one hook about one parent.
type hookCall struct {
	hook   string
	parent object.Key
}

func (c hookCall) compare(other hookCall) int {
	return cmp.Or(cmp.Compare(c.hook, other.hook), cmp.Compare(c.parent.Kind, other.parent.Kind),
		cmp.Compare(c.parent.Namespace, other.parent.Namespace), cmp.Compare(c.parent.Name, other.parent.Name))
}

// Update notes how a call about the snapshot's parent ended. A call that an open circuit prevented does not count. A
// response that cannot be decoded counts as an answer, as does a response with status 429. Calls about earlier versions
// of a parent do not count either: those about the current version show whether the hook is reachable.
func (c *HookCalls) Update(hookName string, snapshot *pipeline.Snapshot, err error) {
	if _, notMade := errors.AsType[*hook.CircuitOpenError](err); notMade || snapshot.Present != nil {
		return
	}
	parent := object.KeyOf(snapshot.Parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = true
	// A parent is either synced or finalized, so a call of the other hook is out of date.
	switch hookName {
	case hook.Sync:
		c.drop(hookCall{hook.Finalize, parent})
	case hook.Finalize:
		c.drop(hookCall{hook.Sync, parent})
	}
	last := hookCall{hookName, parent}
	if hook.Answered(err) || errors.Is(err, hook.ErrMalformed) {
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

// drop removes one call.
func (c *HookCalls) drop(one hookCall) {
	delete(c.unanswered, one)
	if c.first != nil && *c.first == one {
		c.first = nil
	}
}

// Forget drops the calls about a parent that is gone.
func (c *HookCalls) Forget(parent object.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hookName := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		c.drop(hookCall{hookName, parent})
	}
}

// Status returns whether a hook was called at all, and an error if calls were not answered. If
// there are several such calls, the error names one of them, and the same one until that call is
// answered.
func (c *HookCalls) Status() (made bool, err error) {
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
		err = fmt.Errorf("%w (calls for other parents that also got no answer: %d)", err, more)
	}
	return true, err
}

// StaleCredentials are the hooks that are called with older credentials than the host has, and why.
// Its methods may be called concurrently.
type StaleCredentials struct {
	mu     sync.Mutex
	byHook map[*hook.Webhook]error
}

// Set notes why the credentials of a hook are stale; nil if they are not. It returns the previous reason.
func (s *StaleCredentials) Set(webhook *hook.Webhook, err error) (before error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHook == nil {
		s.byHook = map[*hook.Webhook]error{}
	}
	before = s.byHook[webhook]
	if err == nil {
		delete(s.byHook, webhook)
	} else {
		s.byHook[webhook] = err
	}
	return before
}

// Err returns why credentials are stale; nil if none are.
func (s *StaleCredentials) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, err := range s.byHook {
		all = append(all, err)
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}
