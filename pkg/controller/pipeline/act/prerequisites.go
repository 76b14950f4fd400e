// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
