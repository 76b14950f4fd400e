// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Warning is about something that a sync accepts although the author of the hook probably does not intend it. A
// warning does not change what the sync does.
type Warning struct {
	// Reason is the reason of the event about it.
	Reason WarningReason
	// About distinguishes the warning from others with the same reason: warnings of later syncs about the same
	// thing have the same value. If it is empty, the message does that, and must not have times or counts that
	// differ from sync to sync. If the reason is ChildrenDeleted because the answer has no field for children but one
	// with a similar name, it is the message of the UnknownAnswerField that stays when they are gone.
	About string
	// Message says what is wrong with which object, what the consequence is, and what to do.
	Message string
	// EachTime is true if every sync with this warning makes an event, and not only the first one.
	EachTime bool
	// Chosen is true if the spec or the answer asks for it explicitly. Then it is not a mistake: the event is
	// Normal, and the parent does not count as a parent with warnings.
	Chosen bool
}

// Key identifies the warning among the warnings about one parent, in this sync and in later ones.
func (w *Warning) Key() string { return string(w.Reason) + " " + cmp.Or(w.About, w.Message) }

// UnknownFieldWarning returns the warning that the host does not know a field of objects of a kind.
// Fields of different items of a list count as the same field.
func UnknownFieldWarning(kind schema.GroupKind, path, message string) Warning {
	return Warning{Reason: v1alpha1.ReasonUnknownField, About: kind.String() + " " + openapi.WithoutIndexes(path), Message: message}
}

// WarningReason is the reason of the event about a Warning, and of the condition Warnings.
type WarningReason string

// CompareWeight orders more serious reasons first.
func (r WarningReason) CompareWeight(other WarningReason) int {
	return v1alpha1.CompareWarnings(string(r), string(other))
}

// EventRepeatInterval is the minimum time between two events with the same message about an object.
const EventRepeatInterval = 5 * time.Minute

// WriteLoop is an object that is written repeatedly.
type WriteLoop struct {
	// Parent is the parent whose syncs write the object.
	Parent object.Key
	// Object is a child or, if OfParent is true, the parent itself. OfStatus is true if
	// it is the parent's status.
	Object             object.Key
	OfParent, OfStatus bool
	// Op is the operation on the object. Expires is true if it creates the object with a ttlSecondsAfterFinished.
	Op      Op
	Expires bool
	// OfNames is true if the syncs create children of the kind with new names and delete the earlier ones.
	OfNames bool
	// Path is the field in which the object last differed from what the hook wants. It is empty if the object was
	// missing.
	Path string
	// Has and Wants are the values of that field in the object and in the answer of the hook, as JSON; empty if they are
	// not both numbers or booleans.
	Has, Wants string
	// AnswerChanges is true if the answer of the hook differs each time. Otherwise the hook always wants the same, and
	// another writer undoes it.
	AnswerChanges bool
	// Rivals are the names of other controllers of this process that write the same part of the object again and again,
	// for messages.
	Rivals []string
	// Writes is the number of writes in quick succession.
	Writes int
	// Next is the time of the next write, which Writes does not count yet.
	Next time.Time
}
