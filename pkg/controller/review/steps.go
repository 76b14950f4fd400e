// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/changes"
)

// operations are the words of the API for what steps do. A Keep is none.
var operations = map[pipeline.Op]v1alpha1.ReviewedOperation{
	pipeline.Adopt:             v1alpha1.ReviewedAdopt,
	pipeline.Release:           v1alpha1.ReviewedRelease,
	pipeline.Delete:            v1alpha1.ReviewedDelete,
	pipeline.Recreate:          v1alpha1.ReviewedRecreate,
	pipeline.Create:            v1alpha1.ReviewedCreate,
	pipeline.Update:            v1alpha1.ReviewedUpdate,
	pipeline.Apply:             v1alpha1.ReviewedApply,
	pipeline.ToServerSideApply: v1alpha1.ReviewedToServerSideApply,
	pipeline.ToDynamicApply:    v1alpha1.ReviewedToDynamicApply,
	pipeline.Status:            v1alpha1.ReviewedUpdateStatus,
	pipeline.Metadata:          v1alpha1.ReviewedUpdateMetadata,
	pipeline.Finalizer:         v1alpha1.ReviewedUpdateFinalizers,
}

// step returns a step in the words of the API.
func (s *syncing) step(step *preview.Step) v1alpha1.ReviewedStep {
	shown := v1alpha1.ReviewedStep{
		Operation: operations[step.Op], Why: s.conceal.Text(step.Why), Postponed: step.Postponed,
		ReviewedObject: v1alpha1.ReviewedObject{APIVersion: step.Type.GroupVersion().String(), Kind: step.Type.Kind,
			Namespace: step.Namespace, Name: step.Name},
	}
	found, err := changes.OfStep(&step.Step, s.conceal.Content)
	switch outcome := step.Outcome; {
	case outcome != nil:
		shown.DryRun = s.outcome(outcome)
		if by, known := operations[outcome.Op]; known {
			shown.Operation = by
		}
		if outcome.Result != nil && err == nil {
			found, err = changes.OfResult(&step.Step, outcome.Result, s.conceal.Content)
		}
	case step.NotSent != "":
		shown.DryRun = &v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedNotSent, Message: step.NotSent}
	}
	if err == nil {
		shown.Changes, err = shownChanges(found)
	}
	if err != nil {
		shown.Why += "; its changes are unknown: " + s.conceal.Text(err.Error())
	}
	return shown
}

// outcome returns the result of the dry run of a step.
func (s *syncing) outcome(outcome *pipeline.Outcome) *v1alpha1.ReviewedDryRun {
	shown := &v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}
	for _, warning := range outcome.Warnings {
		shown.Warnings = append(shown.Warnings, s.conceal.Text(warning))
	}
	switch {
	case outcome.Err != nil:
		shown.Outcome, shown.Message = v1alpha1.ReviewedRefused, s.conceal.Text(outcome.Err.Error())
	case outcome.NameConflict:
		shown.Outcome, shown.Message = v1alpha1.ReviewedRefused, "an object with this name exists and does not belong to "+
			"the parent"
	case outcome.Conflict:
		shown.Outcome, shown.Message = v1alpha1.ReviewedConflict, "it has changed since it was observed"
	case outcome.Op == pipeline.Keep:
		shown.Outcome, shown.Message = v1alpha1.ReviewedChangesNothing, s.conceal.Text(outcome.Why)
	case changesNothing(outcome):
		shown.Outcome = v1alpha1.ReviewedChangesNothing
	}
	return shown
}

// changesNothing reports whether the host left the object of a step as it was observed.
func changesNothing(outcome *pipeline.Outcome) bool {
	before, after := outcome.Observed, outcome.Result
	switch {
	case before == nil || after == nil || before.Hash != after.Hash:
		return false
	case outcome.Op == pipeline.Status:
		return string(before.Lookup("status")) == string(after.Lookup("status"))
	default:
		return outcome.Op == pipeline.Apply || outcome.Op == pipeline.Update
	}
}

// revision returns the write of a ControllerRevision in the words of the API.
func (s *syncing) revision(write *preview.Revision) v1alpha1.ReviewedStep {
	of := write.Revision
	shown := v1alpha1.ReviewedStep{
		Operation: operations[write.Op],
		ReviewedObject: v1alpha1.ReviewedObject{APIVersion: v1alpha1.SchemeGroupVersion.String(),
			Kind: "ControllerRevision", Namespace: of.Namespace, Name: of.Name},
	}
	switch write.Op {
	case pipeline.Create:
		shown.Why = "it records the parent as it is, and the children that are at this version"
	case pipeline.Delete:
		shown.Why = "no child is at this version of the parent"
	default:
		shown.Why = "the children at this version of the parent have changed, or the version has become the current one, " +
			"or is no longer the current one"
	}
	if write.Tried {
		shown.DryRun = &v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedAccepted}
		if write.Err != nil {
			shown.DryRun = &v1alpha1.ReviewedDryRun{Outcome: v1alpha1.ReviewedRefused,
				Message: s.conceal.Text(write.Err.Error())}
		}
	}
	if write.Op == pipeline.Delete {
		return shown
	}
	after, err := contentOf(of)
	var before map[string]any
	if err == nil && write.Before != nil {
		before, err = contentOf(write.Before)
	}
	if err == nil {
		shown.Changes, err = shownChanges(changes.OfObject(before, after, s.conceal.Content))
	}
	if err != nil {
		shown.Why += "; its changes are unknown: " + s.conceal.Text(err.Error())
	}
	return shown
}

// contentOf returns a ControllerRevision as decoded JSON.
func contentOf(revision *v1alpha1.ControllerRevision) (content map[string]any, err error) {
	raw, err := json.Marshal(revision)
	if err != nil {
		return nil, err
	}
	err = utiljson.Unmarshal(raw, &content)
	return content, err
}

// shownChanges returns changes in the words of the API.
func shownChanges(found []changes.Change) (shown []v1alpha1.ReviewedChange, err error) {
	value := func(value any) *v1alpha1.JSONValue {
		if value == nil || err != nil {
			return nil
		}
		var raw []byte
		raw, err = json.Marshal(value)
		return &v1alpha1.JSONValue{Raw: raw}
	}
	for _, change := range found {
		shown = append(shown, v1alpha1.ReviewedChange{Path: change.Path, From: value(change.From), To: value(change.To)})
	}
	return shown, err
}
