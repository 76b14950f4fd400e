// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// reportFindings notes what a plan has found in the answer about a parent, and writes an event about
// each warning that the last plan did not have or, in the developer's mode, about each warning.
func (c *Controller) reportFindings(state *parentState, parent *object.Object, warnings []pipeline.Warning, outdated int) {
	c.health.setFindings(object.KeyOf(parent), warnings, outdated)
	var told sets.Set[string]
	for _, warning := range warnings {
		if told == nil {
			told = sets.New[string]()
		}
		if !told.Has(warning.Message) && (warning.EachTime || c.DeveloperMode || !state.told.Has(warning.Message)) {
			c.Events.Warning(parent, warning)
		}
		told.Insert(warning.Message)
	}
	state.told = told
}

// reportClusterWarnings writes an event about each warning with which the host has accepted a write.
// Several writes may have the same one.
func (c *Controller) reportClusterWarnings(parent *object.Object, outcomes []pipeline.Outcome) {
	var told []string
	for _, outcome := range outcomes {
		for _, warning := range outcome.Warnings {
			if !slices.Contains(told, warning) {
				told = append(told, warning)
				c.Events.Warning(parent, pipeline.Warning{Reason: pipeline.ClusterWarning, Message: outcome.Key().String() + ": " + warning})
			}
		}
	}
}
