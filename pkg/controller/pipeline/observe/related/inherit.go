// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"maps"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Inherit keeps what another observer watches watched until Disinherit: whoever comes
// to need it meanwhile finds the cache filled.
func (o *Observer) Inherit(from *Observer) {
	inherited := from.watched()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, of := range inherited {
		o.inherited = append(o.inherited, o.Watches.Acquire(of))
	}
}

// watched are the types that the observer watches or has inherited.
func (o *Observer) watched() []pipeline.Type {
	o.mu.RLock()
	defer o.mu.RUnlock()
	watched := slices.Collect(maps.Keys(o.sources))
	for _, watch := range o.inherited {
		if !slices.Contains(watched, watch.Type) {
			watched = append(watched, watch.Type)
		}
	}
	return watched
}

// Disinherit drops what was inherited and is not needed.
func (o *Observer) Disinherit() {
	for _, watch := range o.takeInherited() {
		o.Watches.Release(watch)
	}
}

func (o *Observer) takeInherited() []*cache.View {
	o.mu.Lock()
	defer o.mu.Unlock()
	inherited := o.inherited
	o.inherited = nil
	return inherited
}
