// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// typeWarnings are the warnings that the host sends with each response about a type of the controller, such as that
// the type is deprecated. The controller is warned of that once, and no parent. Its methods may be called
// concurrently.
type typeWarnings struct {
	// controller is the object that the events are about; nil if none are written. It is set before the controller
	// runs.
	controller runtime.Object

	mu       sync.Mutex
	reported sets.Set[string]
}

// isNew notes a text, and reports whether it was not noted before.
func (w *typeWarnings) isNew(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reported.Has(text) {
		return false
	}
	if w.reported == nil {
		w.reported = sets.New[string]()
	}
	w.reported.Insert(text)
	return true
}

// About sets the controller object that events about types are about; without one, none are written. It is called
// before the controller runs.
func (r *Reporter) About(controller runtime.Object) { r.types.controller = controller }

// TypeWarnings writes one event for each distinct warning of the host about the type of a view.
func (r *Reporter) TypeWarnings(view *cache.View) {
	for _, text := range view.Warnings() {
		if r.types.controller != nil && r.types.isNew(view.Type.String()+" "+text) {
			r.Events.TypeWarning(r.types.controller, view.Type, text)
		}
	}
}

// DropTypeWarnings removes from outcomes the warnings of the host that are about the type of their objects. The views
// of these types are given.
func (r *Reporter) DropTypeWarnings(outcomes []pipeline.Outcome, views []*cache.View) {
	for i := range outcomes {
		outcome := &outcomes[i]
		if len(outcome.Warnings) == 0 {
			continue
		}
		for _, view := range views {
			if view.Type.GroupVersionKind() == outcome.Type.GroupVersionKind() {
				r.TypeWarnings(view)
				outcome.Warnings = slices.DeleteFunc(outcome.Warnings, func(text string) bool {
					return slices.Contains(view.Warnings(), text)
				})
			}
		}
	}
}
