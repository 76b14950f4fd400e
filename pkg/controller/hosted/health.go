// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Health returns how the controller is doing. Its cost does not depend on the number of parents.
func (c *Controller) Health() report.Health {
	health := report.Health{WriteLoops: c.writeLoops(), Total: int(c.health.total.Load())}
	health.HookCalled, health.HookErr = c.hookCalls.status()
	health.StaleCredentials = c.staleCredentials.err()

	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	health.Synced, health.Failing = len(c.health.succeeded)-c.health.failing, c.health.failing
	health.LastError = c.health.lastError
	return health
}

// writeLoops returns the write loops that are slowed down, of the parents that exist.
func (c *Controller) writeLoops() []pipeline.WriteLoop {
	loops := slices.DeleteFunc(c.guard.Loops(time.Now()), func(loop pipeline.WriteLoop) bool {
		return c.observer.Get(loop.Parent) == nil
	})
	c.addRivals(loops)
	return loops
}

// addRivals adds to the loops the other controllers that take part in them, as far as they are
// known.
func (c *Controller) addRivals(loops []pipeline.WriteLoop) {
	for i := range loops {
		loops[i].Rivals = c.WriteLoops.Rivals(c.guard, loops[i])
	}
}

// syncHealth is how the last syncs of the parents ended. Its methods may be called concurrently.
type syncHealth struct {
	// total is the number of parents, kept up to date by their events. Counting them each time would
	// cost more the more parents there are.
	total atomic.Int64

	mu sync.Mutex
	// succeeded has an entry for each parent that was synced: whether its last sync succeeded.
	// failing is the number of entries that are false.
	succeeded map[object.Key]bool
	failing   int
	lastError *report.ParentError
}

func newSyncHealth() *syncHealth { return &syncHealth{succeeded: map[object.Key]bool{}} }

// update notes how the last sync of a parent ended. An open circuit makes the parent fail, but
// lastError stays: the call that was not answered says more.
func (h *syncHealth) update(parent object.Key, err error) {
	_, open := errors.AsType[*hook.CircuitOpenError](err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(parent)
	h.succeeded[parent] = err == nil
	switch {
	case err == nil:
		h.markRecovered(parent)
	case !open:
		h.lastError = &report.ParentError{Parent: parent, Message: err.Error(), Time: time.Now()}
	}
	if err != nil {
		h.failing++
	}
}

// forget drops a parent that is gone.
func (h *syncHealth) forget(parent object.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(parent)
	h.markRecovered(parent)
}

// drop removes the result of the last sync of a parent.
func (h *syncHealth) drop(parent object.Key) {
	if succeeded, synced := h.succeeded[parent]; synced && !succeeded {
		h.failing--
	}
	delete(h.succeeded, parent)
}

// markRecovered notes when the parent stopped failing, if the last error is about it.
func (h *syncHealth) markRecovered(parent object.Key) {
	if last := h.lastError; last != nil && last.Parent == parent && last.Recovered.IsZero() {
		h.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Recovered: time.Now()}
	}
}

// RuntimeProblem returns what keeps the running controller as a whole from its work: CacheProblem, or
// a hook whose circuit is open; nil if there is nothing. It is called often, so it allocates nothing.
func (c *Controller) RuntimeProblem() *report.Problem {
	if problem := c.CacheProblem(); problem != nil {
		return problem
	}
	for _, webhook := range [...]*hook.Webhook{c.hooks.sync, c.hooks.finalize, c.hooks.customize} {
		if webhook == nil {
			continue
		}
		if err := webhook.CircuitOpen(); err != nil {
			return &report.Problem{Reason: report.ReasonHookDown, Err: err}
		}
	}
	return nil
}

// CacheProblem returns why the controller does not see all objects of its types, or not their
// changes; nil if it does. Like RuntimeProblem, it is called often.
func (c *Controller) CacheProblem() *report.Problem {
	for _, of := range [...]func(*cache.View) *report.Problem{watchProblem, listProblem} {
		for _, target := range c.observer.Targets {
			if problem := of(target.View); problem != nil {
				return problem
			}
		}
		for _, view := range c.observer.Children {
			if problem := of(view); problem != nil {
				return problem
			}
		}
	}
	if c.spec.Rollout != nil && !c.Revisions.HasSynced() {
		return &report.Problem{Reason: report.ReasonTypesNotListed, Err: errors.New("the ControllerRevisions have not been listed yet")}
	}
	return nil
}

// IsFilled reports whether the controller sees all objects of its types.
func (c *Controller) IsFilled() bool {
	waits := func(view *cache.View) bool { return !view.WaitsSince().IsZero() }
	return !slices.ContainsFunc(c.observer.Targets, func(target *observe.Target) bool { return waits(target.View) }) &&
		!slices.ContainsFunc(c.observer.Children, waits) &&
		(c.spec.Rollout == nil || c.Revisions.HasSynced())
}

// watchProblem returns the problem that the host refuses to let a type be listed or watched, or
// breaks its watches; nil if it does not.
func watchProblem(view *cache.View) *report.Problem {
	err := view.WatchError()
	if err == nil {
		return nil
	}
	verb := "watched"
	if !view.WaitsSince().IsZero() {
		verb = "listed"
	}
	return &report.Problem{Reason: report.ReasonWatchFailed, Err: fmt.Errorf("the host does not let %s be %s: %w", view.Type, verb, err)}
}

// listProblem returns the problem that the host has not ended its list of a type; nil if it has.
func listProblem(view *cache.View) *report.Problem {
	since := view.WaitsSince()
	if since.IsZero() {
		return nil
	}
	return &report.Problem{Reason: report.ReasonTypesNotListed, Err: fmt.Errorf(
		"the host has not ended its answer to the list of %s, which was asked for at %s", view.Type, since.UTC().Format(time.RFC3339))}
}
