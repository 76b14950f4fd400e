// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// answer is the cluster's answer to a question.
type answer struct {
	question
	// asking is locked during a review so that all waiting callers share one review.
	asking sync.Mutex
	// last is nil before the first review.
	last atomic.Pointer[verdict]

	// The mutex of Permissions guards what follows.

	// requirements are those that need the right.
	requirements sets.Set[*Requirement]
	// kept is until when the answer is kept without a requirement; zero if only requirements have needed it.
	kept time.Time
	// told is the outcome that the requirements know.
	told outcome
}

// verdict is the result of a review. It is immutable.
type verdict struct {
	allowed bool
	// trouble says what the cluster could not evaluate.
	trouble string
	// answered is the time at which the cluster answered; zero if it never has.
	answered time.Time
	// tried is the time of the last review, and err is its error, or nil if it succeeded.
	tried time.Time
	err   error
}

// outcome is the meaning of a verdict at some time.
type outcome int

const (
	// unasked means that the cluster has not been asked yet.
	unasked outcome = iota
	allowed
	refused
	// unknown means that the last answer of the cluster is too old to count.
	unknown
)

// outcome returns the meaning of the verdict at this time.
func (v *verdict) outcome(now time.Time) outcome {
	switch {
	case v == nil:
		return unasked
	case now.Sub(v.answered) >= Patience:
		return unknown
	case v.allowed:
		return allowed
	default:
		return refused
	}
}

// isDue reports whether a new review is due. The first time, a check asks.
func (v *verdict) isDue(now time.Time) bool {
	switch {
	case v == nil:
		return false
	case v.err != nil:
		return now.Sub(v.tried) >= retryInterval
	default:
		return now.Sub(v.tried) >= RefreshInterval
	}
}

// errNoAnswer is the error if the cluster does not respond to a review in time.
var errNoAnswer = fmt.Errorf("no answer within %s", reviewTimeout)

// ask asks the cluster if the last verdict fulfils a condition, and notifies the requirements if the verdict has
// changed. It waits for at most reviewTimeout, from the time at which it or its caller has limited ctx. It does nothing
// if ctx is canceled before the cluster answers.
func (p *Permissions) ask(ctx context.Context, a *answer, condition func(last *verdict) bool) {
	a.asking.Lock()
	defer a.asking.Unlock()
	last := a.last.Load()
	if !condition(last) {
		return
	}
	next, tried := p.review(ctx, a)
	if !tried {
		return
	}
	if next.err != nil && last != nil {
		next.allowed, next.trouble, next.answered = last.allowed, last.trouble, last.answered
	}
	p.tell(a) // the last verdict may be too old to count
	a.last.Store(next)
	p.tell(a)
}

// review asks the cluster now. It returns false if ctx is cancelled before the cluster answers.
func (p *Permissions) review(ctx context.Context, a *answer) (next *verdict, tried bool) {
	if !p.turns.take(ctx, a.account) {
		return &verdict{tried: time.Now(), err: errNoAnswer}, isTooLate(ctx)
	}
	defer p.turns.giveBack(a.account)
	limited, cancel := context.WithTimeoutCause(ctx, reviewTimeout, errNoAnswer)
	defer cancel()
	next = &verdict{tried: time.Now()}
	reviewer := rights.NewReviewer(p.reviews, userOf(a.account))
	if next.allowed, next.err = reviewer.Allows(limited, a.right); next.err == nil {
		next.answered, next.trouble = time.Now(), strings.Join(reviewer.Troubles(), "; ")
	}
	return next, ctx.Err() == nil || isTooLate(ctx)
}

// isTooLate reports whether ctx ended because the cluster did not answer in time.
func isTooLate(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNoAnswer) }

// tell notifies the requirements of an answer if its outcome has changed. It does not notify them of the first
// outcome, because the first caller waits for that outcome.
func (p *Permissions) tell(a *answer) {
	p.mu.Lock()
	before, after := a.told, a.last.Load().outcome(time.Now())
	a.told = after
	var waiting []*Requirement
	if before != unasked && before != after {
		waiting = a.requirements.UnsortedList()
	}
	p.mu.Unlock()
	for _, requirement := range waiting {
		requirement.changed()
	}
}

// userOf returns the user that the cluster takes the holder of a token of an account for.
func userOf(account v1alpha1.ServiceAccountReference) rights.User {
	return rights.User{
		Name:   account.Username(),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
	}
}
