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
	parent := c.observer.Get(key)
	return parent != nil && c.pauses(parent) && c.observer.Handles(parent)
}

// pauses reports whether the controller, or the parent, is paused.
func (c *Controller) pauses(parent *object.Object) bool {
	return c.spec.Paused || parent.Annotations[v1alpha1.PausedAnnotation] == "true"
}

// pause notes that a parent is paused. How its last sync ended does not count any more, nor for how long it had waited:
// while nothing is done, nothing can go on.
func (c *Controller) pause(parent object.Key, state *parentState) {
	state.record.pause(time.Now())
	state.finalization, state.unfinishedSince = nil, 0
	if state.rollout != nil {
		state.rollout.events.waitsFor = ""
	}
	c.hookCalls.forget(parent)
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	c.health.set(parent, parentHealth{paused: true})
}

// pausedParent returns one of the parents that are paused. It is the same one as before as long as that is.
func (h *syncHealth) pausedParent() object.Key {
	if h.paused > 0 && !h.parents[h.shownPaused].paused {
		for parent, health := range h.parents {
			if health.paused {
				h.shownPaused = parent
				break
			}
		}
	}
	return h.shownPaused
}
