// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// typeWarnings are what the host warns of in each answer about a type of the controller, such as that the type is
// deprecated. The controller is warned of that once, and no parent. Its methods may be called concurrently.
type typeWarnings struct {
	// controller is what the events are about; nil if none are written. It is set before the controller runs.
	controller runtime.Object

	mu   sync.Mutex
	told sets.Set[string]
}

// isNew notes a text, and reports whether it was not noted before.
func (w *typeWarnings) isNew(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told.Has(text) {
		return false
	}
	if w.told == nil {
		w.told = sets.New[string]()
	}
	w.told.Insert(text)
	return true
}

// reportTypeWarnings writes an event about each text of which the host warns about the type of a view, once.
func (c *Controller) reportTypeWarnings(view *cache.View) {
	for _, text := range view.Warnings() {
		if c.typeWarnings.controller != nil && c.typeWarnings.isNew(view.Type.String()+" "+text) {
			c.Events.TypeWarning(c.typeWarnings.controller, view.Type, text)
		}
	}
}

// dropTypeWarnings removes from outcomes what the host warned of because of the type of their objects.
func (c *Controller) dropTypeWarnings(outcomes []pipeline.Outcome) {
	for i := range outcomes {
		outcome := &outcomes[i]
		if len(outcome.Warnings) == 0 {
			continue
		}
		for _, view := range c.views() {
			if view.Type.GroupVersionKind() == outcome.Type.GroupVersionKind() {
				c.reportTypeWarnings(view)
				outcome.Warnings = slices.DeleteFunc(outcome.Warnings, func(text string) bool {
					return slices.Contains(view.Warnings(), text)
				})
			}
		}
	}
}
