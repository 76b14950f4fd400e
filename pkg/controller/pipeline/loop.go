// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "time"

// EventRepeatInterval is the least time between two events that say the same about an object.
const EventRepeatInterval = 5 * time.Minute

// WriteLoop is an object that is written again and again.
type WriteLoop struct {
	// Parent is for which it is written.
	Parent Key
	// Object is a child or, if OfParent, the parent itself; OfStatus tells that it is the
	// parent's status.
	Object             Key
	OfParent, OfStatus bool
	// Path is the field in which it differed last from what the hook wants. It is empty
	// if the object was missing.
	Path string
	// AnswerChanges tells that the hook wants something else each time. Else it wants the
	// same, and somebody undoes it.
	AnswerChanges bool
	// Rivals are the controllers of this process, as messages name them, that write the
	// same part of the object again and again, as far as there are any.
	Rivals []string
	// Writes is how many writes followed close upon one another.
	Writes int
	// Next is when the next write that is not counted yet may be.
	Next time.Time
}
