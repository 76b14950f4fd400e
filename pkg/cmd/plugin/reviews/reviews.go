// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reviews sends SyncReviews: page after page for all parents of a controller, and with responses of a hook that
// the server cannot reach. It turns the spec of a review into answered SyncReviews, one for each page. A Reviewer
// answers them: the API of a cluster, or package offline.
package reviews

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Reviewer answers SyncReviews.
type Reviewer interface {
	Create(ctx context.Context, review *v1alpha1.SyncReview, options metav1.CreateOptions) (*v1alpha1.SyncReview, error)
}

// Caller calls the hook of a controller, and returns its answer, which is a JSON object.
type Caller func(ctx context.Context, hook string, request []byte) ([]byte, error)

// Each sends a review and calls show with each answer. There are several if the parents do not fit into one. If call is
// not nil, it calls the hooks instead of the server, and its responses are sent to the server. A failed call is an
// error of the sync of the parent.
func Each(ctx context.Context, reviewer Reviewer, spec v1alpha1.SyncReviewSpec, call Caller,
	show func(*v1alpha1.SyncReview) error) error {
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

func one(ctx context.Context, reviewer Reviewer, spec v1alpha1.SyncReviewSpec, call Caller) (*v1alpha1.SyncReview,
	error) {
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

// Add adds the summary of an answer to the summary of the answers before it.
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

const (
	// maxAtOnce bounds the concurrent calls of a hook.
	maxAtOnce = 5
	// maxRounds bounds how often a review is sent with more answers. Two are enough unless objects change in
	// between: the answer of the customize hook leads to the call of the sync hook.
	maxRounds = 10
)

// asking is a review whose hooks are called by this process.
type asking struct {
	call Caller
	spec v1alpha1.SyncReviewSpec

	mu     sync.Mutex
	failed map[callKey]error
	// repeated are the calls that were repeated because the server refused their responses.
	repeated map[callKey]bool
}

// callKey identifies a call in a review.
type callKey struct {
	parent         v1alpha1.ReviewedObject
	hook, revision string
}

// answered sends the review until no response is missing, each time with the responses that were missing before.
func (a *asking) answered(ctx context.Context, reviewer Reviewer) (*v1alpha1.SyncReview, error) {
	for range maxRounds {
		review, err := create(ctx, reviewer, a.spec)
		if err != nil {
			return nil, err
		}
		missing := a.missing(review)
		if len(missing) == 0 && a.dropRefused(review) {
			continue
		}
		if len(missing) == 0 {
			a.markFailed(review)
			return review, nil
		}
		if err := a.callAll(ctx, missing); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the server keeps requesting new responses of the hook, because the parents keep changing")
}

// missingCall is a call whose answer is missing.
type missingCall struct {
	callKey
	request []byte
}

// missing returns the calls whose answers are missing, without those that failed.
func (a *asking) missing(review *v1alpha1.SyncReview) (missing []missingCall) {
	for _, sync := range review.Status.Syncs {
		for _, call := range sync.Calls {
			key := callKey{parent: sync.Parent, hook: call.Hook, revision: call.Revision}
			if call.Source != v1alpha1.ReviewedSourceMissing || a.failed[key] != nil {
				continue
			}
			if call.Request == nil {
				a.failed[key] = errors.New("the server did not return the request for the hook, because it is too large")
				continue
			}
			missing = append(missing, missingCall{key, call.Request.Raw})
		}
	}
	return missing
}

// dropRefused drops the answers that the server did not take, and reports whether there are such. They may answer
// earlier requests: objects change, and a new leader uses other digests for Secrets. Each is dropped once.
func (a *asking) dropRefused(review *v1alpha1.SyncReview) (dropped bool) {
	for _, sync := range review.Status.Syncs {
		for _, call := range sync.Calls {
			key := callKey{parent: sync.Parent, hook: call.Hook, revision: call.Revision}
			if call.Source == v1alpha1.ReviewedSourceGiven && call.Error != "" && !a.repeated[key] {
				a.repeated[key], dropped = true, true
				a.drop(key)
			}
		}
	}
	return dropped
}

// drop removes the answer to a call from the spec.
func (a *asking) drop(key callKey) {
	about := v1alpha1.SyncReviewParent(key.parent)
	a.spec.Responses = slices.DeleteFunc(a.spec.Responses, func(other v1alpha1.SyncReviewResponse) bool {
		return other.Hook == key.hook && other.Revision == key.revision && *other.Parent == about
	})
}

// callAll calls the hook for the missing answers, and adds them to the spec. The only error is the error of the
// context.
func (a *asking) callAll(ctx context.Context, missing []missingCall) error {
	places := make(chan struct{}, maxAtOnce)
	var calls sync.WaitGroup
	for _, one := range missing {
		places <- struct{}{}
		calls.Go(func() {
			defer func() { <-places }()
			answer, err := a.call(ctx, one.hook, one.request)
			a.add(one.callKey, answer, err)
		})
	}
	calls.Wait()
	return context.Cause(ctx)
}

// add adds the answer to a call to the spec. It replaces an earlier answer to the same call.
func (a *asking) add(key callKey, answer []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed[key] = err
		return
	}
	a.drop(key)
	about := v1alpha1.SyncReviewParent(key.parent)
	a.spec.Responses = append(a.spec.Responses, v1alpha1.SyncReviewResponse{
		Hook: key.hook, Revision: key.revision, Parent: &about, Response: runtime.RawExtension{Raw: answer},
	})
}

// markFailed copies the errors of calls to the syncs.
func (a *asking) markFailed(review *v1alpha1.SyncReview) {
	for i := range review.Status.Syncs {
		reviewed := &review.Status.Syncs[i]
		var failures []error
		for j := range reviewed.Calls {
			call := &reviewed.Calls[j]
			if err := a.failed[callKey{reviewed.Parent, call.Hook, call.Revision}]; err != nil {
				call.Error = err.Error()
				failures = append(failures, fmt.Errorf("%s hook: %w", call.Hook, err))
			}
		}
		if len(failures) == 0 {
			continue
		}
		if reviewed.Error != "" {
			failures = append([]error{errors.New(reviewed.Error)}, failures...)
		}
		reviewed.Error = errors.Join(failures...).Error()
		if reviewed.Result == v1alpha1.ReviewedUndecided {
			reviewed.Result = v1alpha1.ReviewedFailed
			review.Status.Summary.Undecided--
			review.Status.Summary.Failed++
		}
	}
}
