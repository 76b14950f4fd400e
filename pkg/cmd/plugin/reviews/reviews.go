// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Reviewer answers SyncReviews.
type Reviewer interface {
	Create(ctx context.Context, review *v1alpha1.SyncReview, options metav1.CreateOptions) (*v1alpha1.SyncReview, error)
}

// Caller calls the hook of a controller, and returns its answer, which is a JSON object.
type Caller func(ctx context.Context, hook string, request []byte) ([]byte, error)

// Each has a spec reviewed and calls show with each answer. There are several if the spec selects more parents than fit into
// one. With a caller, the server calls no hook: the caller does, and its answers are sent to the server. A call that
// failed is an error of the parent's sync.
func Each(ctx context.Context, reviewer Reviewer, spec v1alpha1.SyncReviewSpec, call Caller, show func(*v1alpha1.SyncReview) error) error {
	for {
		review, err := one(ctx, reviewer, spec, call)
		if err != nil {
			return err
		}
		next := review.Status.Continue
		if err := show(review); err != nil || next == "" {
			return err
		}
		parents := *spec.Parents
		parents.Continue = next
		spec.Parents = &parents
	}
}

func one(ctx context.Context, reviewer Reviewer, spec v1alpha1.SyncReviewSpec, call Caller) (*v1alpha1.SyncReview, error) {
	if call == nil {
		return create(ctx, reviewer, spec)
	}
	spec.Calls = v1alpha1.SyncReviewCallsNone
	asked := &asking{call: call, spec: spec, failed: map[callKey]error{}, repeated: map[callKey]bool{}}
	return asked.answered(ctx, reviewer)
}

func create(ctx context.Context, reviewer Reviewer, spec v1alpha1.SyncReviewSpec) (*v1alpha1.SyncReview, error) {
	review := &v1alpha1.SyncReview{Spec: spec}
	review.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("SyncReview"))
	answered, err := reviewer.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	answered.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("SyncReview"))
	return answered, nil
}

// Add adds the summary of an answer to that of the answers before it.
func Add(to *v1alpha1.SyncReviewSummary, of v1alpha1.SyncReviewSummary) {
	to.Parents += of.Parents
	to.Changed += of.Changed
	to.Unchanged += of.Unchanged
	to.Failed += of.Failed
	to.Undecided += of.Undecided
	for _, counted := range of.Steps {
		at := slices.IndexFunc(to.Steps, func(other v1alpha1.ReviewedStepCount) bool {
			return other.Operation == counted.Operation && other.APIVersion == counted.APIVersion && other.Kind == counted.Kind
		})
		if at < 0 {
			to.Steps = append(to.Steps, counted)
		} else {
			to.Steps[at].Count += counted.Count
		}
	}
}
