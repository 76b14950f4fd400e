// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// NeedsAllObjects tells whether a controller with these rules for a type needs to see all of its
// objects. One that finalizes does: it also has to see the parents that it holds and is
// for no longer, and they cannot be told by their labels.
func NeedsAllObjects(rules []Rule, finalizes bool) bool {
	return finalizes || slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Labels.Empty() })
}

// AcquireParents returns the watch of a type's parents, which shows no others that the controller
// need not see.
func AcquireParents(watches *host.Watches, of pipeline.Type, rules []Rule, finalizes bool) *host.Watch {
	if NeedsAllObjects(rules, finalizes) {
		return watches.Acquire(of)
	}
	selectors := make([]labels.Selector, len(rules))
	for i, rule := range rules {
		selectors[i] = rule.Labels
	}
	return watches.AcquireSelected(of, selectors...)
}
