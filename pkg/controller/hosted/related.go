// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
)

// newRelatedObserver returns the observer of related objects; nil without a customize hook.
func (c *Controller) newRelatedObserver() *related.Observer {
	if c.hooks.customize == nil {
		return nil
	}
	return related.New(related.Config{
		Watches:  c.Watches,
		Resolve:  c.Discovery.Resolve,
		Ask:      c.customize,
		Confined: c.spec.Customize.GetVersion() == v1alpha1.HookVersionV1,
		Changed:  c.queue.Enqueue,
	})
}

// customize calls the customize hook.
func (c *Controller) customize(ctx context.Context, snapshot *pipeline.Snapshot) ([]pipeline.RelatedRule, error) {
	rules, err := c.hooks.customize.Customize(ctx, snapshot)
	c.hookCalls.update(hook.Customize, snapshot, err)
	return rules, err
}

// customizeAnswerOf returns the customize hook's answer about a parent, empty before its first
// call; nil without a customize hook.
func (c *Controller) customizeAnswerOf(state *parentState) *related.Answer {
	if c.related != nil && state.customizeAnswer == nil {
		state.customizeAnswer = &related.Answer{}
	}
	return state.customizeAnswer
}

// observeRelated adds the parent's related objects to the snapshot.
func (c *Controller) observeRelated(ctx context.Context, answer *related.Answer, snapshot *pipeline.Snapshot) error {
	if c.related == nil {
		return nil
	}
	return c.related.Observe(ctx, answer, snapshot)
}

// forgetAnswer releases what was observed because of an answer of the customize hook.
func (c *Controller) forgetAnswer(answer *related.Answer) {
	if c.related != nil {
		c.related.Forget(answer)
	}
}

// MissesTypeOf reports whether the host lacks a related type of the API group.
func (c *Controller) MissesTypeOf(group string) bool {
	return c.related != nil && c.related.Misses(group)
}

// Recheck enqueues the parents whose related types were missing and exist now.
func (c *Controller) Recheck(ctx context.Context) {
	if c.related != nil {
		c.related.Recheck(ctx)
	}
}

// handOverTime is how long a controller holds on to the watches of the one it replaces.
// By then its parents have asked for those they need.
const handOverTime = 30 * time.Second

// TakeOver keeps the related types watched that another controller watches, which is
// about to stop, until this one has run for a while.
func (c *Controller) TakeOver(other *Controller) {
	if c.related != nil && other != nil && other.related != nil {
		c.related.Inherit(other.related)
	}
}

// endTakeOver lets go of what was taken over when it is time, or when stop is called.
func (c *Controller) endTakeOver(ctx context.Context) (stop func()) {
	if c.related == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, handOverTime)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		<-ctx.Done()
		c.related.Disinherit()
	})
	return func() { cancel(); waiting.Wait() }
}
