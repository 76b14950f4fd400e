// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// Health is how a running controller is doing. Equal ones lead to the same status, so it has the texts of errors:
// errors with the same text need not be equal.
type Health struct {
	// Uncounted is true while Total is not known.
	Uncounted bool
	// Total is the number of parents. Synced is the number of those whose last sync succeeded,
	// Failing of those whose last sync did not.
	Total, Synced, Failing int
	// HookCalled is true once a hook was called. HookError is the error of the last call; empty if the hook responded.
	HookCalled bool
	HookError  string
	// StaleCredentials says why hooks are called with older credentials than the host has; empty if they are not.
	StaleCredentials string
	LastError        *ParentError
	// Failure is the error of one of the failing parents; nil if none fails. It stays with a parent as long as that
	// fails. Failure and LastError are replaced, and never changed.
	Failure *ParentError
	// Warned is the number of parents that were synced with a warning. Warning is about the one with the most severe
	// warning; empty if there is none.
	Warned  int
	Warning ParentWarning
	// Outdated is the number of children that the update method OnDelete leaves as they are.
	Outdated int
	// Paused is the number of parents that are left alone, PausedParent is one of them, and AllPaused is true if
	// the spec says it of all.
	Paused       int
	PausedParent object.Key
	AllPaused    bool
	// WriteLoops is the number of writes that are slowed down because they would be repeated again and again.
	// WriteLoopSummary describes them; empty if there are none.
	WriteLoops       int
	WriteLoopSummary string
	// Mismatch says how the inline hooks do not fit the schemas of the host; empty if they do.
	Mismatch string
	// LacksAccount is true if the controller acts as the server although the server requires service accounts.
	LacksAccount bool
	// WholeErrors is true if the status shows complete errors of hooks and of syncs.
	WholeErrors bool
}

// SetWriteLoops sets the writes that are slowed down.
func (h *Health) SetWriteLoops(loops []pipeline.WriteLoop) {
	if h.WriteLoops = len(loops); len(loops) > 0 {
		h.WriteLoopSummary = writeLoopSummary(loops)
	}
}

// IsUntried reports whether no sync has succeeded yet, and some parents have not been tried.
func (h *Health) IsUntried() bool {
	return h != nil && !h.AllPaused && h.Synced == 0 && (h.Uncounted || h.Total > h.Paused+h.Failing)
}

// failsWholly reports whether all parents that are not paused fail.
func (h *Health) failsWholly() bool {
	return h != nil && h.Failing > 0 && !h.Uncounted && h.Failing+h.Paused >= h.Total
}

// ParentError is a failed sync of a parent. It is kept for long, so it has only the text of the
// error.
type ParentError struct {
	Parent  object.Key
	Message string
	Time    time.Time
	// Recovered is the time at which the parent was synced without an error, or was gone; zero
	// before.
	Recovered time.Time
}

// ParentWarning is a warning with which a parent was synced.
type ParentWarning struct {
	Parent object.Key
	pipeline.Warning
	// More is the number of other parents with a warning.
	More int
}

func (w ParentWarning) String() string {
	message := about(w.Parent, w.Message)
	if w.More > 0 {
		message = fmt.Sprintf("%s (and %d more parents)", message, w.More)
	}
	return text.Shorten(message, MaxMessage)
}

// about returns a message that begins with the name of the parent that it is about.
func about(parent object.Key, message string) string {
	if name := parent.String() + ": "; !strings.HasPrefix(message, name) {
		return name + message
	}
	return message
}

// Problem describes the reason why a controller does not run with its current spec.
type Problem struct {
	// Reason is a reason of the condition Ready.
	Reason string
	Err    error
	// Since is when the problem was found; zero if that was long ago, or does not matter.
	Since time.Time
	// RunningGeneration is the generation of the spec with which the controller still runs; zero if it does not run.
	RunningGeneration int64
	// rules is the message about missing rights, which takes much to write; empty if it is about
	// something else.
	rules string
}

// RefusalProblem returns the problem that a service account may not read what its controller needs, or that the
// cluster does not respond to the review.
func RefusalProblem(refusal *permissions.Error) *Problem {
	if refusal.IsForbidden() {
		return &Problem{Reason: v1alpha1.ReasonForbidden, Err: refusal, rules: text.Shorten(refusal.Error(), MaxWholeMessage)}
	}
	return &Problem{Reason: v1alpha1.ReasonClusterUnreachable, Err: refusal}
}

// message returns the text of a problem as a condition shows it. It contains all rules that a service account lacks, so
// users can paste them.
func (p *Problem) message() string {
	if p.rules != "" {
		return p.rules
	}
	return text.Shorten(Summary(p.Err), MaxMessage)
}

// runningGeneration returns the field RunningGeneration; zero if there is no problem.
func (p *Problem) runningGeneration() int64 {
	if p == nil {
		return 0
	}
	return p.RunningGeneration
}

// isStalled reports whether only a change of the spec or of another object solves the problem.
func (p *Problem) isStalled() bool {
	return p != nil && v1alpha1.Stalls(p.Reason) && time.Since(p.Since) >= stalledDelay
}

// The maximum lengths, in bytes, of a text about an error, such as the message of a condition.
const (
	MaxMessage = 4096
	// MaxWholeMessage is the length with WholeErrors, and the maximum that a condition can have.
	MaxWholeMessage = 32768
)

// message returns a text of the controller's health as the status shows it.
func (h *Health) message(message string) string {
	if h.WholeErrors {
		return text.Shorten(message, MaxWholeMessage)
	}
	return text.Shorten(message, MaxMessage)
}

// Summary returns the text of an error, empty for nil, without the rules that a service account lacks. The condition
// Ready has all of them; users could not paste them if they were cut to the length of an event.
func Summary(err error) string {
	if err == nil {
		return ""
	}
	refusal, ok := errors.AsType[*permissions.Error](err)
	if !ok {
		return err.Error()
	}
	return strings.Replace(err.Error(), refusal.Error(), refusal.Summary(), 1)
}
