// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Snapshot is what one sync saw of the host.
type Snapshot struct {
	// Controller is the JSON of the CompositeController or DecoratorController.
	Controller []byte
	// ParentType is the type of Parent.
	ParentType object.Type
	// ParentSchema is what the host publishes about ParentType; nil if that is not known.
	ParentSchema *openapi.Type
	// SchemasVersion changes when the schema of a type does.
	SchemasVersion uint64
	// Parent is the object that is synced: the parent of a CompositeController, or the
	// target of a DecoratorController.
	Parent *object.Object
	// Present is the parent as it is now, if Parent is an earlier version of it out of a
	// ControllerRevision, whose name is Revision; else nil.
	Present  *object.Object
	Revision string
	// Trigger is why the parent is synced. Hooks are told it for information; empty is not told.
	Trigger Trigger
	// Selector selects the parent's children. Desired children must match it. That of a
	// decorator selects everything: an annotation identifies its attachments.
	Selector labels.Selector
	// GeneratedLabels are put on desired children that lack them.
	GeneratedLabels map[string]string
	// GeneratedAnnotations are put on all desired children. They replace those of the
	// same name in the hook's answer.
	GeneratedAnnotations map[string]string
	// Children holds one group for each child type, in the order of the rules. The
	// attachments of a target are its children.
	Children []Group
	// Related holds one group for each type that a rule of the customize hook names, in
	// the order of the rules.
	Related []Related
	// Finalizer is the finalizer that the controller puts on its parents.
	Finalizer string
	// NeedsFinalizer is true if the parent has to carry Finalizer before a hook is called.
	NeedsFinalizer bool
	// Finalizing is true if the finalize hook is called instead of the sync hook.
	Finalizing bool
	// Managed is true if this sync creates, changes and deletes children. It is false if
	// the parent is being deleted and the cleanup is not ours: then the children are left
	// to the host.
	Managed bool
	// Outside is true if the parent is in none of the controller's namespaces. It has the
	// finalizer from the time when it was in one. That is removed, and nothing else is done.
	Outside bool
	// ForeignStatus is true if the parent's type does not come from a
	// CustomResourceDefinition. Another writer owns such a status: it is left alone
	// unless the hook answers one.
	ForeignStatus bool
	// NoOp is the answer that, as an earlier sync found, leaves nothing to write; nil if
	// none is known.
	NoOp *NoOp
}

// Trigger is why a parent is synced, as hooks are told.
type Trigger string

const (
	// TriggerRequest: a user asked for it.
	TriggerRequest Trigger = "request"
	// TriggerParent: the parent changed, or the controller started.
	TriggerParent Trigger = "parent"
	// TriggerChild: a child changed, or a name that a child wants became free.
	TriggerChild Trigger = "child"
	// TriggerRelated: a related object changed.
	TriggerRelated Trigger = "related"
	// TriggerSchema: the cluster describes a type in another way.
	TriggerSchema Trigger = "schema"
	// TriggerResync: a period has passed, or the time that an answer asked for.
	TriggerResync Trigger = "resync"
	// TriggerRetry: the last sync failed, or had to wait.
	TriggerRetry Trigger = "retry"
)

// Group is what a sync saw of one child type.
type Group struct {
	Type object.Type
	// Schema is what the host publishes about the type; nil if that is not known.
	Schema *openapi.Type
	// Claimed are the children that the hook is shown, including those of Adopt, sorted
	// by namespace and name.
	Claimed []*object.Object
	// Kept are children that the hook is not shown: orphans of the parent's own type, which may be other parents, and
	// children that a finalization does not delete. The plan needs them if the hook lists them.
	Kept []*object.Object
	// Adopt are those of Claimed and Kept that have no controller yet, or whose reference to the parent is of another version
	// of its type, which the host's garbage collector may not find any more.
	Adopt []*object.Object
	// Release are objects that the parent controls and that its selector no longer
	// matches. The hook is not shown them.
	Release []*object.Object
}

// Related are the objects of one type that the customize hook asked for. Hooks are shown
// them. They are never written.
type Related struct {
	Type    object.Type
	Objects []*object.Object
}
