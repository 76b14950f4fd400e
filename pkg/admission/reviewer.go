// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// parallelReviews bounds the concurrent reviews of one request.
	parallelReviews = 16
	// anyVerb stands for all verbs. Rules that have it allow every verb.
	anyVerb = "*"
)

// Reviews asks the host what a user may do.
type Reviews interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// reviewer asks the host what one user may do. It caches nothing, so that a right that was just
// given counts.
type reviewer struct {
	reviews Reviews
	user    user.Info

	mu sync.Mutex
	// troubles are the evaluation errors of the host. They may be why it refused a right.
	troubles sets.Set[string]
}

func newReviewer(reviews Reviews, of user.Info) *reviewer {
	return &reviewer{reviews: reviews, user: of, troubles: sets.New[string]()}
}

// missing returns the required rights that the user does not have.
func (r *reviewer) missing(ctx context.Context, required []requiredRight) ([]requiredRight, error) {
	verbs, order := map[object]sets.Set[string]{}, []object(nil)
	for _, req := range required {
		if verbs[req.object] == nil {
			verbs[req.object] = sets.New[string]()
			order = append(order, req.object)
		}
		verbs[req.object].Insert(req.verb)
	}
	// Many users have all rights to a type or none. One review for any verb first saves reviews for
	// each verb.
	var all, rest []right
	for _, of := range order {
		if len(verbs[of]) > 2 {
			all = append(all, right{of, anyVerb})
		}
	}
	allowed, err := r.allowed(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, of := range order {
		if !allowed.Has(right{of, anyVerb}) {
			for _, verb := range sets.List(verbs[of]) {
				rest = append(rest, right{of, verb})
			}
		}
	}
	each, err := r.allowed(ctx, rest)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(required), func(req requiredRight) bool {
		return allowed.Has(right{req.object, anyVerb}) || each.Has(req.right)
	}), nil
}

// allowed returns the rights that the user has.
func (r *reviewer) allowed(ctx context.Context, rights []right) (sets.Set[right], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	has, failures := make([]bool, len(rights)), make([]error, len(rights))
	slots := make(chan struct{}, parallelReviews)
	var group sync.WaitGroup
	for i, asked := range rights {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if has[i], failures[i] = r.review(ctx, asked); failures[i] != nil {
				cancel() // the other reviews cannot change the result
			}
		})
	}
	group.Wait()
	if err := firstCause(failures); err != nil {
		return nil, err
	}
	allowed := sets.New[right]()
	for i, asked := range rights {
		if has[i] {
			allowed.Insert(asked)
		}
	}
	return allowed, nil
}

// firstCause returns the first error that is not a cancellation, or a cancellation if there is no
// other error.
func firstCause(failures []error) error {
	var first error
	for _, err := range failures {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	return first
}

func (r *reviewer) review(ctx context.Context, asked right) (bool, error) {
	answer, err := r.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: r.user.GetName(), UID: r.user.GetUID(), Groups: r.user.GetGroups(), Extra: extraOf(r.user),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: asked.Group, Version: "*", Resource: asked.Resource, Subresource: asked.subresource,
				Namespace: asked.namespace, Name: asked.name, Verb: asked.verb,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review whether the user may %s %s: %w", asked.verb, asked.GroupResource, err)
	}
	if trouble := answer.Status.EvaluationError; trouble != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.troubles.Insert(trouble)
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}

func extraOf(user user.Info) map[string]authorizationv1.ExtraValue {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.GetExtra() {
		extra[key] = values
	}
	return extra
}
