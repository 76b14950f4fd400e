// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline holds what the stages of a sync hand to one another:
//
//	observe ──Snapshot──▶ hook ──Response──▶ plan ──Plan──▶ act ──Outcome──▶ report
//
// The types are data; each stage's own package makes or reads them.
package pipeline

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Type is a resource of the host as discovery describes it.
type Type struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// StatusSubresource tells whether status is written by a request of its own.
	StatusSubresource bool
}

// GroupVersionKind is the type of the resource's objects.
func (t Type) GroupVersionKind() schema.GroupVersionKind {
	return t.GroupVersion().WithKind(t.Kind)
}

// GroupKind is the type of the resource's objects in any version.
func (t Type) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}

// String names the type as hooks do, "Pod.v1" or "StatefulSet.apps/v1".
func (t Type) String() string { return t.Kind + "." + t.GroupVersion().String() }

// Snapshot is what one sync saw of the host.
type Snapshot struct {
	// Controller is the JSON of the CompositeController or DecoratorController.
	Controller []byte
	// ParentType is the type of Parent.
	ParentType Type
	// Parent is the object that is synced: a CompositeController's parent, or a
	// DecoratorController's target.
	Parent *object.Object
	// Present is the object as it is if Parent is an earlier version of it, out of a
	// ControllerRevision; else nil.
	Present *object.Object
	// Selector selects the parent's children. Desired children must match it. Attachments
	// are not selected by it.
	Selector labels.Selector
	// GeneratedLabels are put on desired children that lack them.
	GeneratedLabels map[string]string
	// GeneratedAnnotations are put on all desired children, in place of what the hook
	// says of them.
	GeneratedAnnotations map[string]string
	// Children holds one group for each child type, in the order of the rules: a target's
	// attachments are its children.
	Children []Group
	// Related holds one group for each type that a rule of the customize hook names, in
	// the order of the rules.
	Related []Related
	// Finalizer is the finalizer by which the controller holds its parents.
	Finalizer string
	// NeedsFinalizer tells whether the parent has to carry Finalizer before a hook is asked.
	NeedsFinalizer bool
	// Finalizing is true when the finalize hook is to be asked instead of sync.
	Finalizing bool
	// Managed tells whether this sync creates, changes and deletes children. Of a parent
	// that is being deleted and no longer ours to clean up they are left to the host.
	Managed bool
	// ForeignStatus tells that the parent's type does not come from a
	// CustomResourceDefinition. The status of such a type has a writer of its own: it
	// is left alone unless the hook's answer has one.
	ForeignStatus bool
	// NoOp is the answer that is known, from an earlier sync, to leave nothing to write; nil if none is.
	NoOp *NoOp
}

// Related are the objects of one type that a parent's customize hook asked to be shown.
// They are read and never written.
type Related struct {
	Type    Type
	Objects []*object.Object
}

// Group is what a sync saw of one child type.
type Group struct {
	Type Type
	// Schema is what the host publishes of the type, nil if that is not known.
	Schema *openapi.Type
	// Claimed are the children the hook is shown, those to be adopted included,
	// sorted by namespace and name.
	Claimed []*object.Object
	// Adopt are those of Claimed that have no controller yet.
	Adopt []*object.Object
	// Release are objects that the parent controls and its selector no longer
	// matches. The hook is not shown them.
	Release []*object.Object
}
