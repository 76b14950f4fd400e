// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Snapshot is the state of the host that one sync observed.
type Snapshot struct {
	// Controller is the JSON of the CompositeController or DecoratorController.
	Controller []byte
	// ParentType is the type of Parent.
	ParentType object.Type
	// ParentSchema is the host's schema of ParentType; nil if it is not known.
	ParentSchema *openapi.Type
	// SchemasVersion changes when the schema of a type changes.
	SchemasVersion uint64
	// Parent is the object that is being synced: the parent of a CompositeController, or the target of a
	// DecoratorController.
	Parent *object.Object
	// Present is the current parent if Parent is an earlier version of it, from the ControllerRevision with the name
	// Revision; otherwise nil.
	Present  *object.Object
	Revision string
	// Trigger is the reason why the parent is synced. Requests to hooks have it for information, unless it is empty.
	Trigger Trigger
	// Selector selects the parent's children. Desired children must match it. For a decorator it selects everything,
	// because an annotation identifies the attachments.
	Selector labels.Selector
	// GeneratedLabels are added to desired children that lack them.
	GeneratedLabels map[string]string
	// GeneratedAnnotations are set on all desired children. They replace annotations of the same name in the hook's
	// answer.
	GeneratedAnnotations map[string]string
	// Children has one group for each child type, in the order of the rules. The attachments of a target are its
	// children.
	Children []Group
	// Related has one group for each type that a rule of the customize hook names, in the order of the rules.
	Related []Related
	// Finalizer is the finalizer that the controller adds to its parents.
	Finalizer string
	// NeedsFinalizer is true if the parent must have Finalizer before a hook is called.
	NeedsFinalizer bool
	// Finalizing is true if the finalize hook is called instead of the sync hook.
	Finalizing bool
	// Managed is true if this sync creates, changes and deletes children. It is false if the parent is being deleted and
	// the host cleans up the children.
	Managed bool
	// Outside is true if the parent is outside the namespaces of the controller, but still has the finalizer because
	// it once was. The sync removes the finalizer and does nothing else.
	Outside bool
	// ForeignStatus is true if the parent's type does not come from a CustomResourceDefinition. Another writer
	// owns such a status, so it is left alone unless the answer of the hook has one.
	ForeignStatus bool
	// NoOp is an answer that an earlier sync found to leave nothing to write; nil if there is none.
	NoOp *NoOp
}

// Trigger is the reason why a parent is synced, as requests to hooks name it.
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
	// TriggerSchema: the schema of a type changed.
	TriggerSchema Trigger = "schema"
	// TriggerResync: the resync period has passed, or the time that an answer asked for.
	TriggerResync Trigger = "resync"
	// TriggerRetry: the last sync failed, or had to wait.
	TriggerRetry Trigger = "retry"
)

// Group has the objects of one child type that concern a sync.
type Group struct {
	Type object.Type
	// Schema is the host's schema of the type; nil if it is not known.
	Schema *openapi.Type
	// Claimed are the children that the hook sees, including those of Adopt, sorted by namespace and name.
	Claimed []*object.Object
	// Kept are children that the hook does not see: orphans of the parent's own type, which may be other parents, and
	// children that a finalization does not delete. The plan needs them if the hook lists them.
	Kept []*object.Object
	// Adopt are those of Claimed and Kept that have no controller yet, or whose reference to the parent has another
	// version of its type, which the host's garbage collector may no longer find.
	Adopt []*object.Object
	// Release are objects that the parent controls and its selector no longer matches. The hook does not see them.
	Release []*object.Object
}

// Related are the objects of one type that the customize hook asked for. Hooks see them; syncs never write them.
type Related struct {
	Type    object.Type
	Objects []*object.Object
}

// RelatedObjects returns all related objects with their types.
func (s *Snapshot) RelatedObjects() iter.Seq2[object.Type, *object.Object] {
	return func(yield func(object.Type, *object.Object) bool) {
		for _, group := range s.Related {
			for _, one := range group.Objects {
				if !yield(group.Type, one) {
					return
				}
			}
		}
	}
}
