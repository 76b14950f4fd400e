// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// childPhases are the phases of the steps for children. The steps of one phase are taken in parallel. A phase
// ends before the next one begins.
var childPhases = [...][]pipeline.Op{
	{pipeline.Adopt, pipeline.Release},
	{pipeline.Delete, pipeline.Recreate},
	{pipeline.Create, pipeline.Update, pipeline.Apply, pipeline.ToServerSideApply, pipeline.ToDynamicApply},
}

// phasesOf returns all phases of a plan in order.
func phasesOf(plan *pipeline.Plan) [][]pipeline.Op {
	parent, finalizer := [][]pipeline.Op{{pipeline.Status}, {pipeline.Metadata}}, [][]pipeline.Op{{pipeline.Finalizer}}
	if plan.ParentFirst {
		return slices.Concat(parent, childPhases[:], finalizer)
	}
	return slices.Concat(childPhases[:], parent, finalizer)
}

// stepsOf returns the steps of a phase.
func stepsOf(plan *pipeline.Plan, phase []pipeline.Op) (steps []pipeline.Step) {
	for _, step := range plan.Steps {
		if slices.Contains(phase, step.Op) {
			steps = append(steps, step)
		}
	}
	return steps
}

// InOrder returns the steps of a plan that write, in the order in which Act takes them.
func InOrder(plan *pipeline.Plan) (steps []pipeline.Step) {
	for _, phase := range phasesOf(plan) {
		steps = append(steps, slices.Concat(inWaves(stepsOf(plan, phase))...)...)
	}
	return steps
}

// inWaves divides the steps of a phase into those that are taken first and the others: an object cannot be
// created before its Namespace or its CustomResourceDefinition.
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

// createsPlace reports whether a step creates an object, such as a Namespace, that other objects need before they can
// be created.
func createsPlace(step pipeline.Step) bool {
	switch step.Type.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return step.Creates()
	}
	return false
}

// afterPrerequisites returns the steps that may still be taken, given the outcomes of earlier phases.
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

// stableError is an error of the host whose causes are sorted. The same error with its causes in another order would
// make another event.
type stableError struct {
	text string
	err  error
}

func (e *stableError) Error() string { return e.text }

func (e *stableError) Unwrap() error { return e.err }

// inStableOrder returns an error with its causes sorted. The host lists causes when an object is invalid, and
// in separate lines when a schema refuses an object.
func inStableOrder(err error) error {
	if err == nil {
		return nil
	}
	text := sortLines(sortCauses(err.Error(), err))
	if text == err.Error() {
		return err
	}
	return &stableError{text: text, err: err}
}

// sortCauses sorts the causes of an error in its text, if the text lists them in the host's form.
func sortCauses(text string, err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) < 2 {
		return text
	}
	var causes []string
	for _, cause := range status.ErrStatus.Details.Causes {
		causes = append(causes, cause.Field+": "+cause.Message)
	}
	listed := "[" + strings.Join(causes, ", ") + "]"
	slices.Sort(causes)
	return strings.Replace(text, listed, "["+strings.Join(causes, ", ")+"]", 1)
}

// sortLines sorts the indented lines that follow a line that ends with "errors:".
func sortLines(text string) string {
	before, listed, found := strings.Cut(text, "errors:\n")
	if !found {
		return text
	}
	lines := strings.Split(listed, "\n")
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "  ") })
	if end < 0 {
		end = len(lines)
	}
	slices.Sort(lines[:end])
	return before + "errors:\n" + strings.Join(lines, "\n")
}
