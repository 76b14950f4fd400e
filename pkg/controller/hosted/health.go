// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Health tells how the controller is doing. What it costs does not depend on how many
// parents there are.
func (c *Controller) Health() report.Health {
	health := report.Health{WriteLoops: c.writeLoops(), Total: int(c.parents.total.Load())}
	health.HookCalled, health.HookErr = c.hookCalls.status()
	health.StaleCredentials = c.staleCredentials.err()

	c.parents.mu.Lock()
	defer c.parents.mu.Unlock()
	health.Synced, health.Failing = len(c.parents.synced)-c.parents.failing, c.parents.failing
	health.LastError = c.parents.lastError
	return health
}

// Trouble is what keeps the whole controller from its work while it runs; nil if nothing
// does. It is cheap to ask, as it is asked often: no lists of watches and hooks are made for it.
func (c *Controller) Trouble() *report.Problem {
	for _, target := range c.observer.Targets {
		if problem := watchProblem(target.Watch); problem != nil {
			return problem
		}
	}
	for _, watch := range c.observer.Children {
		if problem := watchProblem(watch); problem != nil {
			return problem
		}
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

// watchProblem is the problem that the host does not let a type be watched; nil if it does.
func watchProblem(watch *host.Watch) *report.Problem {
	if err := watch.Failing(); err != nil {
		return &report.Problem{Reason: report.ReasonWatchFailed, Err: fmt.Errorf("the host does not let %s be watched: %w", watch.Type, err)}
	}
	return nil
}

// writeLoops are what is slowed down of the parents there are.
func (c *Controller) writeLoops() []pipeline.WriteLoop {
	loops := slices.DeleteFunc(c.guard.Loops(time.Now()), func(loop pipeline.WriteLoop) bool {
		return c.observer.Get(loop.Parent) == nil
	})
	c.addRivals(loops)
	return loops
}
