// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Response is the answer of a sync or finalize hook.
type Response struct {
	// Status is the JSON object that the parent's status must become; nil if the answer has none, or null.
	Status []byte
	// Labels and Annotations are the changes to the parent's labels and annotations: a new value, or nil to remove
	// the key. Only responses of DecoratorController hooks have them.
	Labels, Annotations map[string]*string
	// Children are the desired children in the order of the answer.
	Children []*object.Object
	// SaysChildren is true if the answer has the field that lists children.
	SaysChildren bool
	// ResyncAfter is the time after which one more sync is due; zero if none is.
	ResyncAfter time.Duration
	// Finalized is true if a finalize hook has nothing left to do. SaysFinalized is true if the answer has that field.
	Finalized, SaysFinalized bool
	// Events are the events that the hook wants to have about the parent or a child.
	Events []HookEvent
	// Strict is true if a child that is listed twice makes the answer an error. Otherwise the last entry counts.
	Strict bool
	// Warnings are about the answer itself.
	Warnings []Warning
	// Hash is the hash of the answer's bytes.
	Hash uint64
	// IsNoOp is true if the answer is the NoOp of the snapshot. Then only Hash and the fields that NoOp has are set.
	IsNoOp bool
}

// HookEvent is an event in the answer of a hook.
type HookEvent struct {
	// Warning is true if the type of the event is Warning, and not Normal.
	Warning bool
	// Reason is a word in CamelCase. Message is not empty.
	Reason, Message string
	// Child is the child that the event is about; nil for the parent.
	Child *HookEventChild
}

// HookEventChild names a child. An empty namespace means the namespace of the parent.
type HookEventChild struct {
	Group, Kind, Namespace, Name string
}

// NoOp is an answer that leaves nothing to write.
type NoOp struct {
	// Answer is the hash of the answer.
	Answer uint64
	// ResyncAfter is the one of the answer.
	ResyncAfter time.Duration
}

// RelatedRule is one rule of a customize hook's answer: it selects objects that the parent's other hooks see.
// Names excludes selectors, and Namespace excludes NamespaceSelector. A rule with only a type selects all
// objects of the type.
type RelatedRule struct {
	// APIVersion and Resource name the type of the objects. The host may not have it.
	APIVersion, Resource string
	// LabelSelector selects objects by their labels; nil if the rule has none.
	LabelSelector labels.Selector
	// NamespaceSelector selects objects by the labels of their namespaces; nil if the rule
	// has none.
	NamespaceSelector labels.Selector
	// Namespace is the namespace of the objects; empty allows any.
	Namespace string
	// Names are the names that the objects may have; none allows any.
	Names []string
}
