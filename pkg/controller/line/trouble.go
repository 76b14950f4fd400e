// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
)

// Trouble is what keeps the whole controller from its work while it runs; nil if nothing
// does. It is cheap to ask.
func (c *Controller) Trouble() *report.Problem {
	for _, watch := range c.watches() {
		if err := watch.Failing(); err != nil {
			return &report.Problem{Reason: report.ReasonWatchFailed, Err: fmt.Errorf("the host does not let %s be watched: %w", watch.Type, err)}
		}
	}
	for _, webhook := range c.hooks.all() {
		if err := webhook.Down(); err != nil {
			return &report.Problem{Reason: report.ReasonHookDown, Err: err}
		}
	}
	return nil
}
