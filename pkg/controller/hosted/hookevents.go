// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// reportHookEvents writes the events of an answer that the last answer about the parent did not have. A hook
// answers the same as long as nothing changes, so each event is told once.
func (c *Controller) reportHookEvents(state *parentState, snapshot *pipeline.Snapshot, events []pipeline.HookEvent) {
	var told sets.Set[uint64]
	for _, event := range events {
		key := xxhash.Sum64String(fmt.Sprintf("%v %q %q %v", event.Warning, event.Reason, event.Message, event.Child))
		if !state.hookEvents.Has(key) && !told.Has(key) {
			c.Events.OfHook(subjectOf(snapshot, event.Child), event)
		}
		if told == nil {
			told = sets.New[uint64]()
		}
		told.Insert(key)
	}
	state.hookEvents = told
}

// subjectOf returns the child that an event is about, and the parent if there is no such child.
func subjectOf(snapshot *pipeline.Snapshot, child *pipeline.HookEventChild) *object.Object {
	if child == nil {
		return snapshot.Parent
	}
	namespace := child.Namespace
	if namespace == "" {
		namespace = snapshot.Parent.Namespace
	}
	for _, group := range snapshot.Children {
		if group.Type.Group != child.Group || group.Type.Kind != child.Kind {
			continue
		}
		for _, claimed := range group.Claimed {
			if claimed.Name == child.Name && (claimed.Namespace == namespace || claimed.Namespace == "") {
				return claimed
			}
		}
	}
	return snapshot.Parent
}
