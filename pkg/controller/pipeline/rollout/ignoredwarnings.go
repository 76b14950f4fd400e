// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// ignoredWarnings returns the warnings about what is stored as a revision and does not count: paths that
// the controller does not roll out, and revisions beyond the number that a parent may have.
func (r *Rollout) ignoredWarnings() []pipeline.Warning {
	var warnings []pipeline.Warning
	for _, earlier := range r.Revisions[1:] {
		stored := earlier.stored[0]
		if outside := revisions.Outside(stored.ControllerRevision, r.rules.fieldPaths()); len(outside) > 0 {
			warnings = append(warnings, pipeline.Warning{Reason: pipeline.RevisionIgnored, Message: fmt.Sprintf(
				"ControllerRevision %s records %s, and only what is within the field paths that the controller rolls out (%s) is restored; "+
					"its children become what the hook wants of the parent as it is otherwise",
				stored.Name, strings.Join(outside, ", "), strings.Join(r.rules.fieldPaths(), ", "))})
		}
	}
	if len(r.excess) > 0 {
		warnings = append(warnings, pipeline.Warning{Reason: pipeline.RevisionIgnored, Message: fmt.Sprintf(
			"there are more than %d revisions of this object, so the children at the oldest are updated at once", maxRevisions)})
	}
	return warnings
}
