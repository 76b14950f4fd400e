// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/offline"
)

// Result is the result of a case.
type Result struct {
	*Case
	Duration time.Duration
	// Err is the error that kept the case from running.
	Err error
	// Outcome is the result of the sync; nil if there is an error.
	Outcome *Outcome
	// Printed is the output of the hook during the case, if known. For the first case, it includes the output at its
	// start.
	Printed string
	// Difference is a diff of the expected and the actual result; empty if they are equal.
	Difference string
	// Doubt is the reason that RunTwice found against writing the outcome as expected; empty if there is none.
	Doubt string
}

// Failed reports whether the case did not pass.
func (r *Result) Failed() bool { return r.Err != nil || r.Difference != "" || r.Doubt != "" }

// caseTimeout bounds the duration of a case, with the calls of its hooks.
const caseTimeout = time.Minute

// Hooks returns the Caller of the hooks of a controller.
type Hooks func(controller *lookup.Controller) reviews.Caller

// Run runs a case with some hooks.
func (s *Suite) Run(ctx context.Context, of *Case, hooks Hooks) *Result {
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, caseTimeout, fmt.Errorf("the case has not ended after %s", caseTimeout))
	defer cancel()
	result := &Result{Case: of}
	if result.Outcome, result.Err = s.outcome(ctx, of, hooks); result.Err == nil {
		result.Difference, result.Err = compare(of.Expect, result.Outcome)
	}
	result.Duration = time.Since(begin)
	return result
}

// RunTwice is like Run, for a case to update. It checks whether the outcome may become the expected result.
func (s *Suite) RunTwice(ctx context.Context, of *Case, hooks Hooks) *Result {
	result := s.Run(ctx, of, hooks)
	if result.Outcome == nil {
		return result
	}
	if result.Doubt = result.problem(); result.Doubt != "" {
		return result
	}
	again := s.Run(ctx, of, hooks)
	result.Duration += again.Duration
	switch difference, err := result.differenceTo(again.Outcome); {
	case again.Outcome == nil:
		result.Doubt = "the second time, it could not be run: " + again.Err.Error()
	case err != nil:
		result.Doubt = err.Error()
	case difference != "":
		result.Doubt = "the hook returned a different answer the second time, such as a time or a random value " +
			"(- first, + second):\n" + difference
	}
	return result
}

// outcome returns the outcome of the sync of a case.
func (s *Suite) outcome(ctx context.Context, of *Case, hooks Hooks) (*Outcome, error) {
	fixture, err := s.fixtureOf(of)
	if err != nil {
		return nil, err
	}
	spec := v1alpha1.SyncReviewSpec{
		Controller: fixture.controller.InReview(),
		Parent: &v1alpha1.SyncReviewParent{
			APIVersion: fixture.parent.GetAPIVersion(), Kind: fixture.parent.GetKind(),
			Namespace: fixture.parent.GetNamespace(), Name: fixture.parent.GetName(),
		},
		Until: v1alpha1.SyncReviewUntilPlan, TimeoutSeconds: ptr.To[int32](30),
	}
	var came *Outcome
	err = offline.With(ctx, s.types, fixture.objects, s.ApplyStrategy,
		func(ctx context.Context, reviewer *offline.Reviewer) error {
			return reviews.Each(ctx, reviewer, spec, hooks(fixture.controller.Controller),
				func(review *v1alpha1.SyncReview) (err error) {
					if len(review.Status.Syncs) != 1 {
						return errors.New(strings.Join(append([]string{"the controller did not sync the parent"}, review.Status.Notes...),
							": "))
					}
					came, err = newOutcome(&review.Status.Syncs[0])
					return err
				})
		})
	if apierrors.IsNotFound(err) {
		return &Outcome{map[string]any{"error": err.Error(), "result": string(v1alpha1.ReviewedFailed), "steps": []any{}}},
			nil // nothing selects the parent
	}
	return came, err
}

// Outcome is the result of a sync in the form of Expected, as decoded JSON. Each step is an object with all its fields.
type Outcome struct {
	fields map[string]any
}

// newOutcome returns the outcome of a sync.
func newOutcome(sync *v1alpha1.ReviewedSync) (*Outcome, error) {
	fields := map[string]any{"result": sync.Result}
	add := func(name string, value any, there bool) {
		if there {
			fields[name] = value
		}
	}
	add("error", sync.Error, sync.Error != "")
	add("refused", sync.Refused, len(sync.Refused) > 0)
	add("events", sync.Events, len(sync.Events) > 0)
	add("warnings", sync.Warnings, len(sync.Warnings) > 0)
	add("resyncAfter", sync.ResyncAfter, sync.ResyncAfter != "")
	add("rollout", rolloutOf(sync), sync.Rollout != nil)
	steps := []any{}
	for i := range sync.Steps {
		steps = append(steps, stepOf(sync, &sync.Steps[i]))
	}
	fields["steps"] = steps
	if err := addAnswers(fields, sync); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	came := &Outcome{}
	return came, utiljson.Unmarshal(raw, &came.fields)
}

// addAnswers adds the responses of the hooks about the current version of the parent.
func addAnswers(fields map[string]any, sync *v1alpha1.ReviewedSync) error {
	for _, call := range sync.Calls {
		if call.Response == nil || call.Revision != "" {
			continue
		}
		var answer map[string]any
		if err := utiljson.Unmarshal(call.Response.Raw, &answer); err != nil {
			return fmt.Errorf("answer of the %s hook: %w", call.Hook, err)
		}
		for name, value := range answer {
			switch name {
			case "relatedResources":
				fields["related"] = value
			case "attachments":
				fields["children"] = value
			case "children", "status", "labels", "annotations", "finalized":
				fields[name] = value
			}
		}
	}
	return nil
}

// stepOf returns the fields of a step.
func stepOf(sync *v1alpha1.ReviewedSync, step *v1alpha1.ReviewedStep) map[string]any {
	fields := map[string]any{"step": nameOf(sync, step), "why": step.Why}
	changes := map[string]any{}
	for _, change := range step.Changes {
		if change.Path == "" {
			fields["object"] = change.To
			continue
		}
		both := map[string]any{}
		if change.From != nil {
			both["from"] = change.From
		}
		if change.To != nil {
			both["to"] = change.To
		}
		changes[change.Path] = both
	}
	if len(changes) > 0 {
		fields["changes"] = changes
	}
	if step.Postponed {
		fields["postponed"] = true
	}
	return fields
}

// nameOf returns a step as text, without the names of ControllerRevisions, which are hashes.
func nameOf(sync *v1alpha1.ReviewedSync, step *v1alpha1.ReviewedStep) string {
	text := printing.Step(&sync.Parent, step)
	if step.Kind == "ControllerRevision" {
		text = strings.TrimSuffix(text, " "+step.Name)
	}
	return text
}

// rolloutOf returns the progress of a rolling update.
func rolloutOf(sync *v1alpha1.ReviewedSync) any {
	if sync.Rollout == nil {
		return nil
	}
	fields := map[string]any{"reason": sync.Rollout.Reason, "message": sync.Rollout.Message}
	for name, objects := range map[string][]v1alpha1.ReviewedObject{"moves": sync.Rollout.Moves,
		"behind": sync.Rollout.Behind} {
		var names []string
		for _, object := range objects {
			names = append(names, printing.Child(&sync.Parent, object))
		}
		if len(names) > 0 {
			fields[name] = names
		}
	}
	return fields
}
