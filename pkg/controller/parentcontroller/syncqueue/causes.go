// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import "github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"

// Cause says why a parent is in the queue. Traces show it, and hooks get its trigger.
//
// This file is the list of all causes. Each enqueues a parent for another sync; nothing else does.
type Cause uint8

// The causes, the most informative one first. Of several causes of one sync, the first counts.
const (
	// Asked is a sync that a user requested (parentcontroller.Controller.RequestSyncs).
	Asked Cause = iota
	// ParentChanged is a parent that changed or is gone (the event handler of parents).
	ParentChanged
	// ControllerStarted is the first sync of a parent that exists when its controller starts (the event handler of
	// parents).
	ControllerStarted
	// StatusChanged is a change of a parent that leaves everything but its status as it was (the event handler of
	// parents).
	StatusChanged
	// ChildChanged is a change of a child (the event handler of children).
	ChildChanged
	// NameFreed is a name that a child wants and that became free, or whose object changed its owners or labels
	// (the event handler of children).
	NameFreed
	// RelatedChanged is a change of a related object, or of what the customize hook may see (package related).
	RelatedChanged
	// RevisionRestored is a ControllerRevision that the server did not create (the event handler of package store).
	RevisionRestored
	// SchemaChanged is another schema of a type, for parents with warnings (parentcontroller.Controller.SetSchemas).
	SchemaChanged
	// Resync is a sync of all parents: the period of the spec or of the process has passed, or an object of spec.resyncOn
	// has changed.
	Resync
	// Due is a sync that the last one asked for at a time (Queue, because of a Done result with a time).
	Due
	// Retry is a sync because the last one failed or came too early (Queue, because of any other result), or because the
	// deletion of the controller waits for the finalize hook (parentcontroller.Leaving).
	Retry
	causes
)

// causeInfo describes a cause.
type causeInfo struct {
	// text is the cause in traces.
	text string
	// trigger is the cause in the header that hooks receive.
	trigger pipeline.Trigger
	// lane is the lane in which parents wait because of it.
	lane lane
}

func (c Cause) info() causeInfo {
	return [causes]causeInfo{
		Asked:             {"requested", pipeline.TriggerRequest, requested},
		ParentChanged:     {"parent changed", pipeline.TriggerParent, changed},
		ControllerStarted: {"controller started", pipeline.TriggerParent, started},
		StatusChanged:     {"status of the parent changed", pipeline.TriggerParent, affected},
		ChildChanged:      {"child changed", pipeline.TriggerChild, affected},
		NameFreed:         {"name of a child became free", pipeline.TriggerChild, affected},
		RelatedChanged:    {"related object changed", pipeline.TriggerRelated, affected},
		RevisionRestored:  {"ControllerRevision restored", pipeline.TriggerResync, affected},
		SchemaChanged:     {"schema changed", pipeline.TriggerSchema, all},
		Resync:            {"resync", pipeline.TriggerResync, all},
		Due:               {"last sync", pipeline.TriggerResync, again},
		Retry:             {"retry", pipeline.TriggerRetry, again},
	}[c]
}

func (c Cause) String() string { return c.info().text }

// Trigger returns the value of the header that hooks receive in a sync of this cause.
func (c Cause) Trigger() pipeline.Trigger { return c.info().trigger }
