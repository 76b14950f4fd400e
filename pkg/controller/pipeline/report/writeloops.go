// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// writeLoopEvent returns the message of the event about the write loops of a parent.
func writeLoopEvent(loops []pipeline.WriteLoop, now time.Time) string {
	first := loops[0]
	wait := max(first.Next.Sub(now).Round(100*time.Millisecond), 100*time.Millisecond)
	message := fmt.Sprintf("%s was %s %d times in a row, each time because %s; the next write waits %s, and the wait "+
		"doubles with each further write",
		subject(first), done(first), first.Writes, cause(first), wait)
	if more := len(loops) - 1; more > 0 {
		message += fmt.Sprintf(" (%d more alike)", more)
	}
	return message
}

// writeLoopSummary returns the message of the condition Warnings of a controller. It stays the same
// while the write loops do.
func writeLoopSummary(loops []pipeline.WriteLoop) string {
	return summary(loops, func(loop pipeline.WriteLoop) string {
		if loop.OfParent {
			return ""
		}
		return " (its parent is " + loop.Parent.Path() + ")"
	})
}

// WriteLoopsOfParent returns the message for a parent that fails because of these write loops.
func WriteLoopsOfParent(loops []pipeline.WriteLoop) string {
	return summary(loops, func(pipeline.WriteLoop) string { return "" })
}

// summary describes the first few loops, in the order of their names: the object, the reason of the writes, and the
// text that where returns.
func summary(loops []pipeline.WriteLoop, where func(pipeline.WriteLoop) string) string {
	const most = 3
	loops = slices.SortedFunc(slices.Values(loops), func(a, b pipeline.WriteLoop) int {
		return cmp.Or(cmp.Compare(a.Parent.NamespacedName.String(), b.Parent.NamespacedName.String()),
			cmp.Compare(a.Object.String(), b.Object.String()))
	})
	var said []string
	for _, loop := range loops[:min(len(loops), most)] {
		said = append(said, fmt.Sprintf("%s is repeatedly %s, each time because %s%s",
			subject(loop), strings.TrimSuffix(done(loop), ","), cause(loop), where(loop)))
	}
	if more := len(loops) - most; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

// subject names the object that is written.
func subject(loop pipeline.WriteLoop) string {
	switch {
	case loop.OfStatus:
		return "the status of " + loop.Object.String()
	case loop.OfNames:
		return "a " + loop.Object.Kind + " with a new name, such as " + loop.Object.String() + ","
	}
	return loop.Object.String()
}

// done returns the participle for the writes of the loop.
func done(loop pipeline.WriteLoop) string {
	switch {
	case loop.OfNames:
		return "created, and an earlier one deleted,"
	case loop.Op == pipeline.Delete:
		return "deleted"
	case loop.Op == pipeline.Adopt:
		return "adopted"
	case loop.Op == pipeline.Release:
		return "released"
	}
	return "written"
}

// cause returns the reason why the object is written again, and how to end the loop.
func cause(loop pipeline.WriteLoop) string {
	const sameAnswer = "it must give the same answer to the same request, so leave out timestamps and random values"
	rivals := strings.Join(loop.Rivals, " and ")
	switch {
	case loop.OfNames:
		return "the hook returns new names: " + sameAnswer
	case loop.Expires && !loop.AnswerChanges:
		return "it no longer exists: its ttlSecondsAfterFinished removes it when it has finished; return it until it has " +
			"finished, and then record that in the parent's status, or remove ttlSecondsAfterFinished"
	case loop.Op == pipeline.Delete && !loop.AnswerChanges:
		return "the hook does not list it, and another writer creates it again; make the hook list it, or give the " +
			"objects of the other writer labels that the parent's selector does not match"
	case (loop.Op == pipeline.Adopt || loop.Op == pipeline.Release) && !loop.AnswerChanges:
		return "another writer changes its owners or labels; make sure that only one writer sets them"
	case loop.AnswerChanges && loop.Path == "":
		return "the hook returns a different answer: " + sameAnswer
	case loop.AnswerChanges:
		return "the hook returns a different value at " + loop.Path + ": " + sameAnswer
	case loop.Path == "" && len(loop.Rivals) == 1:
		return "it no longer exists: " + rivals + " deletes it; " + remedyOfDeletion
	case loop.Path == "" && len(loop.Rivals) > 1:
		return "it no longer exists: " + rivals + " delete it; " + remedyOfDeletion
	case loop.Path == "":
		return "it no longer exists: another writer deletes it; find that writer, and make sure that only one writer " +
			"manages it"
	}
	said := "it differs at " + loop.Path + ": "
	switch len(loop.Rivals) {
	case 0:
		return said + "another writer changes it" + values(loop) + "; to find the writer, run kubectl get with " +
			"--show-managed-fields -o yaml; let only one writer set it"
	case 1:
		return said + rivals + ", which also writes it, wants another value" + values(loop) + "; let only one writer set it"
	default:
		return said + rivals + ", which also write it, want other values" + values(loop) + "; let only one writer set it"
	}
}

// remedyOfDeletion says how to stop another controller from deleting a child. That controller deletes it because it
// has the same parents, and its hook does not return the child.
const remedyOfDeletion = "give the controllers labelSelectors (spec.parentResource.labelSelector) that do not " +
	"overlap, or make one of them a DecoratorController"

// values returns, in brackets, the values between which a field alternates, if they are known.
func values(loop pipeline.WriteLoop) string {
	if loop.Has == "" {
		return ""
	}
	return fmt.Sprintf(" (%s instead of %s)", loop.Has, loop.Wants)
}
