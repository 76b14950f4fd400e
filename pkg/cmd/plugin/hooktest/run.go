// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/offline"
)

// Result is what came of a case.
type Result struct {
	*Case
	Duration time.Duration
	// Err is why the case could not be run.
	Err error
	// Outcome is what came of the sync; nil if there is an error.
	Outcome *Outcome
	// Printed is what the hook has printed meanwhile, if that is known; of the first case, also what it has printed at its start.
	Printed string
	// Difference is the difference to what is expected, as lines of a diff; empty if there is none.
	Difference string
	// Doubt is why the outcome is not to become what is expected, if RunTwice found a reason; else empty.
	Doubt string
}

// Failed reports whether the case did not pass.
func (r *Result) Failed() bool { return r.Err != nil || r.Difference != "" || r.Doubt != "" }

// caseTimeout is how long a case may take, with the calls of its hooks.
const caseTimeout = time.Minute

// Hooks returns what calls the hooks of a controller.
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

// RunTwice is Run for a case that is going to be updated. It finds out whether the outcome may be what is expected.
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
		result.Doubt = "the hook answered something else the second time, such as a time or a random value " +
			"(- first, + second):\n" + difference
	}
	return result
}

// outcome returns what comes of the sync of a case.
func (s *Suite) outcome(ctx context.Context, of *Case, hooks Hooks) (*Outcome, error) {
	exists, err := s.situationOf(of)
	if err != nil {
		return nil, err
	}
	spec := v1alpha1.SyncReviewSpec{
		Controller: exists.controller.InReview(),
		Parent: &v1alpha1.SyncReviewParent{
			APIVersion: exists.parent.GetAPIVersion(), Kind: exists.parent.GetKind(), Namespace: exists.parent.GetNamespace(), Name: exists.parent.GetName(),
		},
		Until: v1alpha1.SyncReviewUntilPlan, TimeoutSeconds: ptr.To[int32](30),
	}
	var came *Outcome
	err = offline.With(ctx, s.types, exists.objects, s.ApplyStrategy, func(ctx context.Context, reviewer *offline.Reviewer) error {
		return reviews.Each(ctx, reviewer, spec, hooks(exists.controller.Controller), func(review *v1alpha1.SyncReview) (err error) {
			if len(review.Status.Syncs) != 1 {
				return errors.New(strings.Join(append([]string{"the controller did not sync the parent"}, review.Status.Notes...), ": "))
			}
			came, err = newOutcome(&review.Status.Syncs[0])
			return err
		})
	})
	if apierrors.IsNotFound(err) {
		return &Outcome{map[string]any{"error": err.Error(), "result": string(v1alpha1.ReviewedFailed), "steps": []any{}}}, nil // nothing selects the parent
	}
	return came, err
}
