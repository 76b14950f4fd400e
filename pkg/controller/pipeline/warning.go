// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Warning is something that a sync accepts although it is probably not what the author of the hook
// means. It changes nothing in what the sync does.
type Warning struct {
	// Reason is that of the event about it.
	Reason WarningReason
	// About tells the warning from others of the same reason: warnings of later syncs about the same
	// have the same value. If it is empty, the message does that, and then has no times and no counts
	// that differ from sync to sync.
	About string
	// Message says what is wrong, of which object, what becomes of it and what to do.
	Message string
	// EachTime is true if each sync with this warning is worth an event, and not only the first one.
	EachTime bool
	// Chosen is true if the spec or the answer asks for it explicitly. Then it is not a mistake: its event
	// is Normal, and the parent does not count as warned.
	Chosen bool
}

// Key identifies the warning among those about one parent, in this sync and in later ones.
func (w *Warning) Key() string { return string(w.Reason) + " " + cmp.Or(w.About, w.Message) }

// UnknownFieldWarning returns the warning that the host does not know a field of objects of a kind.
// Fields of different items of a list count as the same one.
func UnknownFieldWarning(kind schema.GroupKind, path, message string) Warning {
	return Warning{Reason: UnknownField, About: kind.String() + " " + openapi.WithoutIndexes(path), Message: message}
}

// WarningReason is the reason of the event about a Warning.
type WarningReason string

const (
	// UnknownField: the cluster does not know a field of a child or of the parent. It drops the field, or
	// refuses the child.
	UnknownField WarningReason = "UnknownField"
	// UnknownAnswerField: an answer has a field that is none of the protocol, so it is not read.
	UnknownAnswerField WarningReason = "UnknownAnswerField"
	// ChildrenDeleted: all children are deleted. If the answer has no field for children, but one of nearly
	// that name, About is the message of the UnknownAnswerField that stays when they are gone.
	ChildrenDeleted WarningReason = "ChildrenDeleted"
	// ChildOutdated: children differ from what is desired, and their update method leaves them alone.
	ChildOutdated WarningReason = "ChildOutdated"
	// ChildKept: a parent controls objects that its controller neither created nor ever named in an answer.
	ChildKept WarningReason = "ChildKept"
	// RolloutWaiting: a rollout has waited for the same child for long.
	RolloutWaiting WarningReason = "RolloutWaiting"
	// DuplicateChild: an answer lists a child more than once, and the last one counts.
	DuplicateChild WarningReason = "DuplicateChild"
	// OwnerIgnored: an answer lists an owner of a child that cannot own it, or denies that the parent controls it.
	OwnerIgnored WarningReason = "OwnerIgnored"
	// RelatedNotShown: the customize hook asks for objects that another hook is not shown, because of its
	// version.
	RelatedNotShown WarningReason = "RelatedNotShown"
	// ClusterWarning: the cluster has accepted a write with a warning.
	ClusterWarning WarningReason = "ClusterWarning"
	// RevisionIgnored: a ControllerRevision, or a part of one, does not count.
	RevisionIgnored WarningReason = "RevisionIgnored"
)

// reasonsByWeight are the reasons of warnings, the gravest one first.
var reasonsByWeight = []WarningReason{
	ChildrenDeleted, RolloutWaiting, ChildKept, ChildOutdated, DuplicateChild, OwnerIgnored, RelatedNotShown,
	ClusterWarning, RevisionIgnored, UnknownAnswerField, UnknownField,
}

// CompareWeight orders warnings of graver reasons first.
func (r WarningReason) CompareWeight(other WarningReason) int {
	return cmp.Compare(slices.Index(reasonsByWeight, r), slices.Index(reasonsByWeight, other))
}

// IsAboutFields reports whether warnings of this reason are about fields that the cluster or the hook
// protocol does not have. The others are about whole children.
func (r WarningReason) IsAboutFields() bool {
	return r == UnknownField || r == UnknownAnswerField || r == ChildrenDeleted
}

// EventRepeatInterval is the least time between two events that say the same about an object.
const EventRepeatInterval = 5 * time.Minute

// WriteLoop is an object that is written again and again.
type WriteLoop struct {
	// Parent is the parent whose syncs write the object.
	Parent object.Key
	// Object is a child or, if OfParent is true, the parent itself. OfStatus is true if
	// it is the parent's status.
	Object             object.Key
	OfParent, OfStatus bool
	// Op is what is done to the object, and Expires is true if it is created with a ttlSecondsAfterFinished.
	Op      Op
	Expires bool
	// OfNames is true if children of the kind are created under ever new names, and those before deleted.
	OfNames bool
	// Path is the field in which the object differed last from what the hook wants. It is
	// empty if the object was missing.
	Path string
	// Has and Wants are the values of that field, as JSON, which the object has and which the hook
	// wants; empty if they are not both numbers or booleans.
	Has, Wants string
	// AnswerChanges is true if the hook wants something else each time. Otherwise the hook
	// wants the same, and another writer undoes it.
	AnswerChanges bool
	// Rivals are other controllers of this process that write the same part of the object
	// again and again, as messages name them.
	Rivals []string
	// Writes is the number of writes in quick succession.
	Writes int
	// Next is the time of the next write that Writes does not count yet.
	Next time.Time
}
