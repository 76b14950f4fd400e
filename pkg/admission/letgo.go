// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// letGo returns warnings about what becomes of parents that a change of a spec may let go of.
func letGo(stored, updated *controller) (warnings []string) {
	for _, before := range stored.parents {
		isSame := func(after typeRule) bool { return after.GroupResource() == before.GroupResource() }
		isCovered := func(after typeRule) bool {
			return isSame(after) && (isAll(&after) || apiequality.Semantic.DeepEqual(before.selector, after.selector) &&
				apiequality.Semantic.DeepEqual(before.annotations, after.annotations))
		}
		if slices.ContainsFunc(updated.parents, isCovered) {
			continue
		}
		path, isKept := "spec.resources", slices.ContainsFunc(updated.parents, isSame)
		if !stored.decorates {
			path = "spec.parentResource"
			if isKept {
				path += ".labelSelector"
			}
		}
		becomes := "they are not synced any more, and their children stay as they are"
		switch {
		case updated.finalizes && isKept:
			becomes = "their finalize hook will be called"
		case stored.finalizes:
			becomes = "their finalizer is removed without a call of the finalize hook, and their children stay as they are"
		}
		warnings = append(warnings, fmt.Sprintf("%s: parents (%s) that stop matching are let go of: %s",
			path, before.GroupResource(), becomes))
	}
	if stored.finalizes && !updated.finalizes {
		warnings = append(warnings, "spec.hooks.finalize: parents lose their finalizer: no hook will be called when they "+
			"are deleted; set it again to put the finalizer back")
	}
	return warnings
}

// isAll reports whether a rule selects all objects of its resource.
func isAll(rule *typeRule) bool {
	return len(requirements(rule.selector)) == 0 &&
		(rule.annotations == nil || len(rule.annotations.MatchAnnotations) == 0 && len(rule.annotations.MatchExpressions) == 0)
}
