// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// WriteWarnings returns the warnings with which the host answered the writes of a plan, each once. It
// leaves out unknown fields that the plan warns of already.
func WriteWarnings(snapshot *pipeline.Snapshot, plan *pipeline.Plan, outcomes []pipeline.Outcome) []pipeline.Warning {
	var unknown fieldWarnings
	var others []hostWarning
	for i := range outcomes {
		outcome := &outcomes[i]
		advice := adviceForChild
		if outcome.Op.OnParent() {
			advice = adviceForStatus(snapshot.ForeignStatus)
		}
		paths, texts := toldUnknown(outcome)
		for _, path := range paths {
			unknown.add(outcome.Key(), []openapi.UnknownField{{Path: path}}, advice)
		}
		for _, text := range texts {
			others = addHostWarning(others, outcome.Key(), text)
		}
	}
	warnings := slices.DeleteFunc(unknown.warnings(), func(warning pipeline.Warning) bool {
		return slices.ContainsFunc(plan.Warnings, func(planned pipeline.Warning) bool { return planned.Key() == warning.Key() })
	})
	for i := range others {
		warnings = append(warnings, others[i].warning())
	}
	return warnings
}

// hostWarning is a warning that the host wrote itself.
type hostWarning struct {
	objects warnedObjects
	text    string
}

func addHostWarning(to []hostWarning, of object.Key, text string) []hostWarning {
	same := func(other hostWarning) bool { return other.text == text && other.objects.kind == of.GroupKind }
	if i := slices.IndexFunc(to, same); i >= 0 {
		to[i].objects.more++
		return to
	}
	return append(to, hostWarning{newWarnedObjects(of), text})
}

func (w *hostWarning) warning() pipeline.Warning {
	return pipeline.Warning{Reason: pipeline.ClusterWarning, About: w.objects.kind.String() + " " + w.text,
		Message: w.objects.String() + ": the cluster warns: " + w.text}
}
