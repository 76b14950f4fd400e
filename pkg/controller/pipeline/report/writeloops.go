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
	message := fmt.Sprintf("%s was written %d times in a row, each time because %s; the next write waits %s, further ones longer and longer",
		subject(first), first.Writes, cause(first), max(first.Next.Sub(now).Round(100*time.Millisecond), 100*time.Millisecond))
	if more := len(loops) - 1; more > 0 {
		message += fmt.Sprintf(" (%d more alike)", more)
	}
	return message
}

// writeLoopSummary returns the message of the condition Stable of a controller. It stays the same
// while the write loops do.
func writeLoopSummary(loops []pipeline.WriteLoop) string {
	const most = 3
	loops = slices.SortedFunc(slices.Values(loops), func(a, b pipeline.WriteLoop) int {
		return cmp.Or(cmp.Compare(a.Parent.NamespacedName.String(), b.Parent.NamespacedName.String()), cmp.Compare(a.Object.String(), b.Object.String()))
	})
	var said []string
	for _, loop := range loops[:min(len(loops), most)] {
		text := fmt.Sprintf("%s is written again and again, each time because %s", subject(loop), cause(loop))
		if !loop.OfParent {
			text += " (its parent is " + loop.Parent.Path() + ")"
		}
		said = append(said, text)
	}
	if more := len(loops) - most; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

// subject names what is written.
func subject(loop pipeline.WriteLoop) string {
	if loop.OfStatus {
		return "the status of " + loop.Object.String()
	}
	return loop.Object.String()
}

// cause returns why the object is written again and what would end that.
func cause(loop pipeline.WriteLoop) string {
	switch {
	case loop.AnswerChanges && loop.Path == "":
		return "the hook answers something else: it must give the same answer to the same request"
	case loop.AnswerChanges:
		return "the hook answers something else at " + loop.Path + ": it must give the same answer to the same request"
	case loop.Path == "":
		return "it is gone: somebody else deletes it"
	case len(loop.Rivals) > 0:
		says := ", which also writes it, wants something else"
		if len(loop.Rivals) > 1 {
			says = ", which also write it, want something else"
		}
		return "it differs at " + loop.Path + ": " + strings.Join(loop.Rivals, " and ") + says
	default:
		return "it differs at " + loop.Path + ": somebody else changes it"
	}
}
