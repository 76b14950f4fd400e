// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// isPaused reports whether a parent is left alone: no hook is called about it, and nothing is written, its
// finalizer neither. When that ends, an event of the parent or another spec has it synced.
func (c *Controller) isPaused(key object.Key) bool {
	parent := c.planner.Observer.Get(key)
	return parent != nil && c.pauses(parent) && c.planner.Observer.Handles(parent)
}

// pauses reports whether the controller, or the parent, is paused.
func (c *Controller) pauses(parent *object.Object) bool {
	return c.spec.Paused || parent.Annotations[v1alpha1.PausedAnnotation] == "true"
}

// pause notes that a parent is paused. How its last sync ended does not count any more, nor for how long it had waited:
// while nothing is done, nothing can go on.
func (c *Controller) pause(parent object.Key, state *parentState) {
	state.record.Pause(time.Now())
	state.finalization, state.unfinishedSince = nil, 0
	state.told.Pause()
	c.hookCalls.Forget(parent)
	c.reporter.Pause(parent)
}
