// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A parent that is being deleted stays until its finalize hook answers "finalized": true. So does its
// namespace, or its CustomResourceDefinition, if that is being deleted. A hook may take some time. But
// if no child goes for finalizeThreshold, the parent is failing.

// finalizeThreshold is how long a finalize hook may take from one child that has gone to the next.
const finalizeThreshold = 30 * time.Second

// finalization is how far the finalization of a parent is. A finalization that has not begun, or is
// over, is nil.
type finalization struct {
	// since is when the hook answered for the first time, and progress is when a child was last
	// found to have gone.
	since, progress time.Time
	children        int
	// saysFalse is true if the last answer had the field finalized.
	saysFalse bool
}

// next returns how far the finalization is after an answer about the snapshot.
func (f *finalization) next(snapshot *pipeline.Snapshot, answer *pipeline.Response, now time.Time) *finalization {
	if !snapshot.Finalizing || answer.Finalized || !slices.Contains(snapshot.Parent.Finalizers, snapshot.Finalizer) {
		return nil
	}
	children := 0
	for _, group := range snapshot.Children {
		children += len(group.Claimed)
	}
	next := finalization{since: now, progress: now}
	if f != nil {
		next = *f
		if children < f.children {
			next.progress = now
		}
	}
	next.children = children
	if !answer.IsNoOp { // else it says the same as the last one, and was not read
		next.saysFalse = answer.SaysFinalized
	}
	return &next
}

// due returns when the parent is failing if nothing happens until then. A child that is given time
// to end gracefully takes that time.
func (f *finalization) due(snapshot *pipeline.Snapshot) time.Time {
	latest := f.progress
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp != nil && child.DeletionTimestamp.After(latest) {
				latest = child.DeletionTimestamp.Time
			}
		}
	}
	return latest.Add(finalizeThreshold)
}

// describe says what a finalization that does not go on waits for. definitionWaits is true if the
// CustomResourceDefinition of the parent waits, too.
func (f *finalization) describe(snapshot *pipeline.Snapshot, definitionWaits bool) string {
	since := f.since
	if deleted := snapshot.Parent.DeletionTimestamp; deleted != nil {
		since = deleted.Time
	}
	var text strings.Builder
	fmt.Fprintf(&text, "the finalize hook has not finished, and this object cannot be deleted until it has; it waits for it since %s: ", since.UTC().Format(time.RFC3339))
	if f.saysFalse {
		text.WriteString(`its last answer says "finalized": false`)
	} else {
		text.WriteString(`its last answer has no field "finalized"`)
	}
	text.WriteString(`, and only "finalized": true lets the object go`)
	if children := describeChildren(snapshot); children == "" {
		text.WriteString("; the hook is shown no child any more")
	} else {
		text.WriteString("; children that are still there: " + children)
	}
	if definitionWaits {
		text.WriteString("; its CustomResourceDefinition is being deleted and waits, too")
	}
	return text.String()
}

// describeChildren names the first few children, those that are being deleted first. It returns an
// empty text if there are none.
func describeChildren(snapshot *pipeline.Snapshot) string {
	var leaving, staying []string
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			switch name := object.KeyOf(child).String(); {
			case child.DeletionTimestamp == nil:
				staying = append(staying, name)
			case len(child.Finalizers) == 0:
				leaving = append(leaving, name+" (is being deleted)")
			default:
				leaving = append(leaving, fmt.Sprintf("%s (is being deleted, and the owners of its finalizers %q have to remove them)", name, child.Finalizers))
			}
		}
	}
	return enumerate.First(status.MaxListed, append(leaving, staying...))
}

// longestLeaving returns the child that has been being deleted for the longest time; nil if none is,
// or if the children are left to the host.
func longestLeaving(snapshot *pipeline.Snapshot) (longest *object.Object) {
	if !snapshot.Managed {
		return nil
	}
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp != nil && (longest == nil || child.DeletionTimestamp.Before(longest.DeletionTimestamp)) {
				longest = child
			}
		}
	}
	return longest
}
