// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// reportedWarnings are the keys of the warnings about a parent for which events were written.
type reportedWarnings struct {
	// planned are the warnings of the last plan.
	planned sets.Set[string]
	// ofWrites are the warnings in the host's responses to writes. They stay although the next sync writes something
	// else.
	ofWrites sets.Set[string]
	// deletion is the warning that children were deleted because the field of children is misspelt; nil if
	// none were, or if the answer has another mistake by now.
	deletion *pipeline.Warning
}

// maxReportedOfWrites bounds the number of remembered warnings of writes. Beyond it, they get events again.
const maxReportedOfWrites = 100

// RecallDeletion returns the findings with the warning about deleted children in place of the warning that the same
// answer has when there are no longer any children.
func (r *Reported) RecallDeletion(findings []pipeline.Warning) []pipeline.Warning {
	if i := slices.IndexFunc(findings, func(warning pipeline.Warning) bool { return warning.Reason == v1alpha1.ReasonChildrenDeleted }); i >= 0 {
		recalled := findings[i]
		recalled.EachTime = false
		r.warnings.deletion = &recalled
		return findings
	}
	if r.warnings.deletion == nil {
		return findings
	}
	i := slices.IndexFunc(findings, func(warning pipeline.Warning) bool {
		return warning.Reason == v1alpha1.ReasonUnknownAnswerField && warning.Message == r.warnings.deletion.About
	})
	if i < 0 {
		r.warnings.deletion = nil
		return findings
	}
	findings = slices.Clone(findings)
	findings[i] = *r.warnings.deletion
	return findings
}

func (t *reportedWarnings) has(key string) bool { return t.planned.Has(key) || t.ofWrites.Has(key) }

// Findings records the probable mistakes in an answer and its plan, and writes an event about each warning that the
// last plan did not have or, in the developer's mode, about each warning.
func (r *Reporter) Findings(reported *Reported, parent *object.Object, warnings []pipeline.Warning, outdated int) {
	r.SetFindings(object.KeyOf(parent), warnings, outdated)
	var planned sets.Set[string]
	for _, warning := range warnings {
		if planned == nil {
			planned = sets.New[string]()
		}
		key := warning.Key()
		if !planned.Has(key) && (warning.EachTime || r.Repeat || !reported.warnings.has(key)) {
			r.Events.Warning(parent, warning)
		}
		planned.Insert(key)
	}
	reported.warnings.planned = planned
}

// CustomizeWarnings writes an event about each of the warnings about the answer of the customize
// hook that has none yet. It is for a sync that gets no answer of the other hook: the reason may be that
// this hook does not see what it expects.
func (r *Reporter) CustomizeWarnings(reported *Reported, parent *object.Object, warnings []pipeline.Warning) {
	for _, warning := range warnings {
		key := warning.Key()
		if reported.warnings.has(key) && !r.Repeat {
			continue
		}
		if reported.warnings.planned == nil {
			reported.warnings.planned = sets.New[string]()
		}
		reported.warnings.planned.Insert(key)
		r.Events.Warning(parent, warning)
	}
}

// WriteWarnings writes an event about each new warning in the host's responses to writes. It adds all of them to the
// findings about the parent.
func (r *Reporter) WriteWarnings(
	reported *Reported, parent *object.Object, findings, ofWrites []pipeline.Warning, outdated int,
) {
	if len(ofWrites) == 0 {
		return
	}
	r.SetWarnedByHost(object.KeyOf(parent))
	if reported.warnings.ofWrites == nil || len(reported.warnings.ofWrites) >= maxReportedOfWrites {
		reported.warnings.ofWrites = sets.New[string]()
	}
	for _, warning := range ofWrites {
		if key := warning.Key(); r.Repeat || !reported.warnings.has(key) {
			reported.warnings.ofWrites.Insert(key)
			r.Events.Warning(parent, warning)
		}
	}
	r.SetFindings(object.KeyOf(parent), slices.Concat(findings, ofWrites), outdated)
}

// FindingsOf returns the warnings of an answer and of its plan, each once.
func FindingsOf(response *pipeline.Response, planned *pipeline.Plan) []pipeline.Warning {
	if len(response.Warnings) == 0 {
		return planned.Warnings
	}
	findings := slices.Clone(response.Warnings)
	for _, warning := range planned.Warnings {
		if !slices.ContainsFunc(findings, func(other pipeline.Warning) bool { return other.Key() == warning.Key() }) {
			findings = append(findings, warning)
		}
	}
	return findings
}
