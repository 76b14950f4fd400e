// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// sayAllAreDeleted adds to a plan that it deletes all children of the parent, unless it leaves one, or
// deletes them to finalize the parent. An answer that lists others, or none, is meant; one without the
// field of children rarely is. The field is where an answer lists children.
func sayAllAreDeleted(plan *pipeline.Plan, snapshot *pipeline.Snapshot, response *pipeline.Response, field string) {
	if snapshot.Finalizing || isDeletionKnown(response) {
		return
	}
	var deleted []string
	for _, step := range plan.Steps {
		if step.Op == pipeline.Delete {
			deleted = append(deleted, step.Observed.String())
		}
	}
	if len(deleted) == 0 || len(deleted) < countLive(snapshot) {
		return
	}
	slices.Sort(deleted)
	said := pipeline.Warning{Reason: pipeline.ChildrenDeleted, About: field, Chosen: response.SaysChildren}
	said.Message = fmt.Sprintf("All %s of this object are deleted (%s), because the answer of the sync hook ",
		field, enumerate.First(maxListed, deleted))
	if said.Chosen {
		said.Message += "lists none of them."
		plan.Notices = append(plan.Notices, said)
		return
	}
	said.Message += fmt.Sprintf("has no field %q. If that is not meant, look for a return statement that is missing "+
		"in the hook. Hooks of version v2, or with responseUnMarshallMode: strict, refuse such an answer and delete "+
		"nothing.", field)
	plan.Warnings = append(plan.Warnings, said)
}

// isDeletionKnown reports whether a warning about the answer says that the children are deleted.
func isDeletionKnown(response *pipeline.Response) bool {
	for _, warning := range response.Warnings {
		if warning.Reason == pipeline.ChildrenDeleted {
			return true
		}
	}
	return false
}

// countLive returns how many of the observed children are not being deleted.
func countLive(snapshot *pipeline.Snapshot) (live int) {
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp == nil {
				live++
			}
		}
	}
	return live
}
