// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// inWaves divides the steps of a phase into those that are taken first, and the others: an object cannot
// be created before its Namespace, or before its CustomResourceDefinition.
func inWaves(steps []pipeline.Step) [][]pipeline.Step {
	if !slices.ContainsFunc(steps, createsPlace) {
		return [][]pipeline.Step{steps}
	}
	var first, others []pipeline.Step
	for _, step := range steps {
		if createsPlace(step) {
			first = append(first, step)
		} else {
			others = append(others, step)
		}
	}
	return [][]pipeline.Step{first, others}
}

// createsPlace reports whether a step creates what other objects need to be created.
func createsPlace(step pipeline.Step) bool {
	switch step.Type.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return step.Creates()
	}
	return false
}

// afterPrerequisites returns the steps that may be taken after the outcomes of earlier phases.
func afterPrerequisites(outcomes []pipeline.Outcome, steps []pipeline.Step) []pipeline.Step {
	for _, outcome := range outcomes {
		switch failed := outcome.Err != nil || outcome.Conflict; {
		case failed && outcome.Op.OnParent():
			return nil
		case failed:
			steps = slices.DeleteFunc(steps, func(step pipeline.Step) bool { return step.Op == pipeline.Finalizer })
		}
	}
	return steps
}
