// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// WriteWarnings returns the warnings with which the host answered the writes of a plan, each once. It
// leaves out what the plan warns of already.
func WriteWarnings(snapshot *pipeline.Snapshot, plan *pipeline.Plan, outcomes []pipeline.Outcome) []pipeline.Warning {
	var unknown fieldWarnings
	var others hostWarnings
	for i := range outcomes {
		outcome := &outcomes[i]
		advice := adviceForChild
		if outcome.Op.OnParent() {
			advice = adviceForStatus(snapshot.ForeignStatus)
		}
		paths, texts := toldUnknown(outcome)
		for _, path := range paths {
			unknown.add(outcome.Key(), []openapi.UnknownField{{Path: path, Meant: outcome.Schema.Meant(path)}}, isDropped, advice)
		}
		others.add(outcome.Key(), texts)
	}
	warnings := append(unknown.warnings(), others.warnings()...)
	return slices.DeleteFunc(warnings, func(warning pipeline.Warning) bool {
		return slices.ContainsFunc(plan.Warnings, func(planned pipeline.Warning) bool { return planned.Key() == warning.Key() })
	})
}
