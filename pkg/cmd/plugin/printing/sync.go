// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package printing prints responses of the API for people. It shows writes as a diff, and describes counts and problems
// in words. Colors only repeat what the text says.
package printing

import (
	"fmt"
	"io"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Sync prints the reviewed sync of a parent. The first column has the signs of a diff.
func (s Style) Sync(to io.Writer, by string, sync *v1alpha1.ReviewedSync) error {
	p := printer{Style: s, parent: &sync.Parent}
	p.line(s.Heading(Name(sync.Parent)) + p.faintly(" by "+by) + ": " + p.result(sync))
	for _, line := range strings.Split(sync.Error, "\n") {
		if line != "" {
			p.line("  " + s.Bad(line))
		}
	}
	for _, refused := range sync.Refused {
		p.line("  " + s.Bad("refused: "+refused))
	}
	for i := range sync.Steps {
		p.step(&sync.Steps[i])
	}
	p.rollout(sync.Rollout)
	for _, warning := range sync.Warnings {
		p.line("  " + s.Warning("warning "+warning.Reason+": "+warning.Message))
	}
	for _, event := range sync.Events {
		p.event(&event)
	}
	if sync.ResyncAfter != "" {
		p.line("  It would be synced again after " + string(sync.ResyncAfter) + ".")
	}
	if sync.Truncated {
		p.line("  " + s.Warning("The output is incomplete, because the answer would be too large."))
	}
	_, err := io.WriteString(to, p.text.String())
	return err
}

// printer prints one sync.
type printer struct {
	Style
	parent *v1alpha1.ReviewedObject
	text   strings.Builder
}

func (p *printer) line(text string) {
	p.text.WriteString(text)
	p.text.WriteByte('\n')
}

func (p *printer) faintly(text string) string { return p.Faint(text) }

func (p *printer) result(sync *v1alpha1.ReviewedSync) string {
	switch sync.Result {
	case v1alpha1.ReviewedFailed:
		return p.Bad("fails")
	case v1alpha1.ReviewedUnchanged:
		return "stays as it is"
	case v1alpha1.ReviewedChanged:
		return count(len(sync.Steps), "write", "writes")
	default:
		return p.Warning("not known")
	}
}

// verbs are the verbs for the operations of steps.
var verbs = map[v1alpha1.ReviewedOperation]string{
	v1alpha1.ReviewedCreate:            "create",
	v1alpha1.ReviewedUpdate:            "update",
	v1alpha1.ReviewedApply:             "apply",
	v1alpha1.ReviewedDelete:            "delete",
	v1alpha1.ReviewedRecreate:          "recreate",
	v1alpha1.ReviewedAdopt:             "adopt",
	v1alpha1.ReviewedRelease:           "release",
	v1alpha1.ReviewedToServerSideApply: "move to server-side apply",
	v1alpha1.ReviewedToDynamicApply:    "move to dynamic apply",
	v1alpha1.ReviewedUpdateStatus:      "update status of",
	v1alpha1.ReviewedUpdateMetadata:    "update metadata of",
	v1alpha1.ReviewedUpdateFinalizers:  "update finalizers of",
}

func (p *printer) step(step *v1alpha1.ReviewedStep) {
	p.line("  " + verbs[step.Operation] + " " + p.Heading(Child(p.parent, step.ReviewedObject)) +
		p.faintly(": "+step.Why) + p.dryRun(step))
	if dryRun := step.DryRun; dryRun != nil {
		for _, warning := range dryRun.Warnings {
			p.line("    " + p.Warning("warning of the cluster: "+warning))
		}
	}
	for i := range step.Changes {
		p.change(&step.Changes[i])
	}
}

// dryRun describes the result of a dry run of a step, or that the guard against write loops postpones it.
func (p *printer) dryRun(step *v1alpha1.ReviewedStep) string {
	switch dryRun := step.DryRun; {
	case step.Postponed:
		return p.Warning(" (postponed: such writes were repeated too often)")
	case dryRun == nil || dryRun.Outcome == v1alpha1.ReviewedAccepted:
		return ""
	case dryRun.Outcome == v1alpha1.ReviewedChangesNothing:
		return p.Faint(" (the cluster would change nothing)")
	case dryRun.Outcome == v1alpha1.ReviewedNotSent:
		return p.Faint(" (not tried: " + dryRun.Message + ")")
	case dryRun.Outcome == v1alpha1.ReviewedConflict:
		return p.Warning(" (conflict: " + dryRun.Message + ")")
	default:
		return p.Bad(" (refused: " + dryRun.Message + ")")
	}
}

func (p *printer) rollout(rollout *v1alpha1.ReviewedRollout) {
	if rollout == nil {
		return
	}
	p.line("  rollout " + rollout.Reason + ": " + rollout.Message)
	for _, list := range []struct {
		title   string
		objects []v1alpha1.ReviewedObject
	}{{"moves now", rollout.Moves}, {"stays behind", rollout.Behind}} {
		var names []string
		for _, object := range list.objects {
			names = append(names, Child(p.parent, object))
		}
		if len(names) > 0 {
			p.line("    " + list.title + ": " + strings.Join(names, ", "))
		}
	}
}

func (p *printer) event(event *v1alpha1.ReviewedEvent) {
	about := ""
	if event.Child != nil {
		about = " about " + Child(p.parent, *event.Child)
	}
	text := fmt.Sprintf("event %s %s%s: %s", event.Type, event.Reason, about, event.Message)
	if event.Type == "Warning" {
		text = p.Warning(text)
	}
	p.line("  " + text)
}

// Step returns a short description of a step.
func Step(parent *v1alpha1.ReviewedObject, step *v1alpha1.ReviewedStep) string {
	return verbs[step.Operation] + " " + Child(parent, step.ReviewedObject)
}

// Child returns the name of an object as it is printed under its parent: without the namespace if the parent has the
// same one.
func Child(parent *v1alpha1.ReviewedObject, object v1alpha1.ReviewedObject) string {
	if object.Namespace == parent.Namespace {
		object.Namespace = ""
	}
	return object.Kind + " " + path(object)
}

// Name returns the name of an object as people write it.
func Name(object v1alpha1.ReviewedObject) string { return object.Kind + " " + path(object) }

func path(object v1alpha1.ReviewedObject) string {
	if object.Namespace == "" {
		return object.Name
	}
	return object.Namespace + "/" + object.Name
}

// count returns a number of things, in words if it is 1.
func count(number int, one, several string) string {
	if number == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", number, several)
}

// Summary returns the numbers of a review in a line or two.
func (s Style) Summary(summary *v1alpha1.SyncReviewSummary) string {
	var parts []string
	add := func(number int32, words string, style func(string) string) {
		if number > 0 {
			parts = append(parts, style(fmt.Sprintf("%d %s", number, words)))
		}
	}
	plain := func(text string) string { return text }
	add(summary.Changed, "would change", s.Heading)
	add(summary.Failed, "would fail", s.Bad)
	add(summary.Undecided, "not known", s.Warning)
	add(summary.Unchanged, "unchanged", plain)
	text := fmt.Sprintf("%s: %s", count(int(summary.Parents), "parent", "parents"), strings.Join(parts, ", "))
	if summary.Parents == 0 {
		return "No parents found."
	}
	var writes []string
	for _, step := range summary.Steps {
		writes = append(writes, fmt.Sprintf("%s %d %s", verbs[step.Operation], step.Count, step.Kind))
	}
	if len(writes) > 0 {
		text += "\nWrites: " + strings.Join(writes, ", ")
	}
	return text
}
