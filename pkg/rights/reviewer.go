// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// parallelReviews bounds the concurrent reviews of one reviewer's question.
	parallelReviews = 8
	// anyVerb stands for all verbs. Rules that have it allow every verb.
	anyVerb = "*"
)

// Reviews sends access reviews for a user to the cluster.
type Reviews interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview,
		metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// User is the user whose rights are reviewed.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// Reviewer sends access reviews for one user to the cluster. It caches nothing, so a right counts as soon as it is
// granted.
type Reviewer struct {
	reviews Reviews
	user    User

	mu       sync.Mutex
	troubles sets.Set[string]
}

// NewReviewer returns a reviewer of the rights of a user.
func NewReviewer(reviews Reviews, of User) *Reviewer {
	return &Reviewer{reviews: reviews, user: of, troubles: sets.New[string]()}
}

// Troubles returns the evaluation errors of the cluster. They may be the reason why it refused a right.
func (r *Reviewer) Troubles() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sets.List(r.troubles)
}

// Missing returns the required rights that the user does not have.
func (r *Reviewer) Missing(ctx context.Context, required []Required) ([]Required, error) {
	verbs, order := map[Object]sets.Set[string]{}, []Object(nil)
	for _, req := range required {
		if verbs[req.Object] == nil {
			verbs[req.Object] = sets.New[string]()
			order = append(order, req.Object)
		}
		verbs[req.Object].Insert(req.Verb)
	}
	// Many users have all rights to a type or none. Asking about any verb first saves a review for each verb.
	var all, rest []Right
	for _, of := range order {
		if len(verbs[of]) > 2 {
			all = append(all, Right{of, anyVerb})
		}
	}
	allowed, err := r.allowed(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, of := range order {
		if !allowed.Has(Right{of, anyVerb}) {
			for _, verb := range sets.List(verbs[of]) {
				rest = append(rest, Right{of, verb})
			}
		}
	}
	each, err := r.allowed(ctx, rest)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(required), func(req Required) bool {
		return allowed.Has(Right{req.Object, anyVerb}) || each.Has(req.Right)
	}), nil
}

// allowed returns the rights that the user has.
func (r *Reviewer) allowed(ctx context.Context, rights []Right) (sets.Set[Right], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	has, failures := make([]bool, len(rights)), make([]error, len(rights))
	slots := make(chan struct{}, parallelReviews)
	var group sync.WaitGroup
	for i, asked := range rights {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if has[i], failures[i] = r.Allows(ctx, asked); failures[i] != nil {
				cancel() // the other reviews cannot change the result
			}
		})
	}
	group.Wait()
	if err := firstCause(failures); err != nil {
		return nil, err
	}
	allowed := sets.New[Right]()
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

// Allows reports whether the user has a right.
func (r *Reviewer) Allows(ctx context.Context, asked Right) (bool, error) {
	answer, err := r.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: r.user.Name, UID: r.user.UID, Groups: r.user.Groups, Extra: r.extra(),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: asked.Group, Version: "*", Resource: asked.Resource, Subresource: asked.Subresource,
				Namespace: asked.Namespace, Name: asked.Name, Verb: asked.Verb,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review whether the user may %s %s: %w", asked.Verb, asked.GroupResource, err)
	}
	if trouble := answer.Status.EvaluationError; trouble != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.troubles.Insert(trouble)
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}

func (r *Reviewer) extra() map[string]authorizationv1.ExtraValue {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range r.user.Extra {
		extra[key] = values
	}
	return extra
}
