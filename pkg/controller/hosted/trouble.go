// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Trouble is what keeps the whole controller from its work while it runs; nil if nothing
// does. It is cheap to ask, as it is asked often: no lists of watches and hooks are made for it.
func (c *Controller) Trouble() *report.Problem {
	for _, target := range c.observer.Targets {
		if problem := blind(target.Watch); problem != nil {
			return problem
		}
	}
	for _, watch := range c.observer.Children {
		if problem := blind(watch); problem != nil {
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

// blind is the problem that the host does not let a type be watched; nil if it does.
func blind(watch *cache.View) *report.Problem {
	if err := watch.WatchError(); err != nil {
		return &report.Problem{Reason: report.ReasonWatchFailed, Err: fmt.Errorf("the host does not let %s be watched: %w", watch.Type, err)}
	}
	return nil
}
