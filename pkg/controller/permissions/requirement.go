// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Requirement are rights that a service account must have. Nil requires nothing. Its methods may be
// called concurrently.
type Requirement struct {
	permissions *Permissions
	account     v1alpha1.ServiceAccountReference
	required    []rights.Required
	// answers are those of required, in the same order.
	answers []*answer
	changed func()
}

// Require returns a requirement, which must be closed. It calls changed, which must not block, when
// the result of Check may be another than before. A call may still come after Close. Without an account,
// nothing is required.
func (p *Permissions) Require(account *v1alpha1.ServiceAccountReference, required []rights.Required, changed func()) *Requirement {
	if account == nil || len(required) == 0 {
		return nil
	}
	r := &Requirement{permissions: p, account: *account, required: required, changed: changed}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range required {
		known := p.answerTo(question{*account, one.Right})
		known.requirements.Insert(r)
		r.answers = append(r.answers, known)
	}
	return r
}

// Close ends the requirement. The cluster is no longer asked for rights that no other one needs.
func (r *Requirement) Close() {
	if r == nil {
		return
	}
	now := time.Now()
	r.permissions.mu.Lock()
	defer r.permissions.mu.Unlock()
	for _, answer := range r.answers {
		answer.requirements.Delete(r)
		r.permissions.drop(answer, now)
	}
}

// Check returns nil if the account has all the rights. If the cluster has not been asked for one of
// them yet, Check asks and waits for the answer, for reviewTimeout at most. What has no answer until then is
// asked for in the background. The error is an *Error, or that of ctx.
func (r *Requirement) Check(ctx context.Context) error {
	if r == nil || r.isMet(time.Now()) {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, reviewTimeout, errNoAnswer)
	defer cancel()
	unasked := slices.DeleteFunc(slices.Clone(r.answers), func(a *answer) bool { return a.last.Load() != nil })
	// As many as the account has turns at most. Those that have no turn in time are noted as unanswered.
	workqueue.ParallelizeUntil(ctx, parallelReviewsOfAccount, len(unasked), func(i int) {
		r.permissions.ask(limited, unasked[i], func(last *verdict) bool { return last == nil })
	})
	return r.failure(ctx, time.Now())
}

// IsAnswered reports whether the cluster has been asked for all the rights, so that Check does not wait for it.
func (r *Requirement) IsAnswered() bool {
	return r == nil || !slices.ContainsFunc(r.answers, func(a *answer) bool { return a.last.Load() == nil })
}

// isMet reports whether the account is known to have all the rights.
func (r *Requirement) isMet(now time.Time) bool {
	for _, answer := range r.answers {
		if answer.last.Load().outcome(now) != allowed {
			return false
		}
	}
	return true
}

// failure returns why the requirement is not met; nil if it is.
func (r *Requirement) failure(ctx context.Context, now time.Time) error {
	failure, failed := &Error{Account: r.account}, false
	for i, answer := range r.answers {
		last := answer.last.Load()
		switch last.outcome(now) {
		case unasked:
			return context.Cause(ctx)
		case unknown:
			// Without an error, the answer became too old before the cluster was asked again.
			failed, failure.Unanswered = true, cmp.Or(last.err, failure.Unanswered, errors.New("no answer for a minute"))
		case refused:
			failed, failure.Missing = true, append(failure.Missing, r.required[i])
			failure.addTrouble(last.trouble)
		}
	}
	if !failed {
		return nil
	}
	return failure
}
