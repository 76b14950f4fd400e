// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Requirement is a set of rights that a service account must have. Nil requires nothing. Its methods may be
// called concurrently.
type Requirement struct {
	permissions *Permissions
	account     v1alpha1.ServiceAccountReference
	required    []rights.Required
	// answers are the answers to required, in the same order.
	answers []*answer
	changed func()
}

// Require returns a requirement, which the caller must close. It calls changed, which must not block, when the result
// of Check may have changed. A call may still come after Close. Without an account, nothing is required.
func (p *Permissions) Require(
	account *v1alpha1.ServiceAccountReference, required []rights.Required, changed func(),
) *Requirement {
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

// Close ends the requirement. Rights that no other one needs are no longer reviewed.
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

// Check returns nil if the account has all the rights. If the cluster has not been asked for one of them yet, Check
// asks and waits for the answer, for at most reviewTimeout. It requests missing answers in the background. The error is
// an *Error, or the error of ctx.
func (r *Requirement) Check(ctx context.Context) error {
	if r == nil || r.isMet(time.Now()) {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, reviewTimeout, errNoAnswer)
	defer cancel()
	unasked := slices.DeleteFunc(slices.Clone(r.answers), func(a *answer) bool { return a.last.Load() != nil })
	// At most as many as the account has turns. Those that get no turn in time are noted as unanswered.
	workqueue.ParallelizeUntil(ctx, parallelReviewsOfAccount, len(unasked), func(i int) {
		r.permissions.ask(limited, unasked[i], func(last *verdict) bool { return last == nil })
	})
	return r.failure(ctx, time.Now())
}

// IsAnswered reports whether the cluster has been asked for all the rights. If so, Check does not wait for it.
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

// failure returns an error that says why the requirement is not met, or nil if it is met.
func (r *Requirement) failure(ctx context.Context, now time.Time) error {
	failure, failed := &Error{Account: r.account}, false
	for i, answer := range r.answers {
		last := answer.last.Load()
		switch last.outcome(now) {
		case unasked:
			return context.Cause(ctx)
		case unknown:
			// Without an error, the answer became too old before it was refreshed.
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

// ToShow returns the permissions that an account needs before hooks may see objects of a type in these namespaces, or
// in the entire cluster if namespaces is empty. what names the part of the spec that selects the objects.
func ToShow(of object.Type, namespaces []string, what string) (required []rights.Required) {
	for _, objects := range rights.ObjectsOf(of.GroupResource(), of.Namespaced, namespaces) {
		required = append(required, rights.To(objects, what, "list", "watch")...)
	}
	return required
}

// Error says why a requirement is not met.
type Error struct {
	Account v1alpha1.ServiceAccountReference
	// Missing are rights that the account does not have.
	Missing []rights.Required
	// Troubles are what the cluster could not evaluate. That may be why it refused a right.
	Troubles []string
	// Unanswered says why other rights cannot be checked at the cluster; nil if it has answered.
	Unanswered error
}

// IsForbidden reports whether the account is known to lack rights. Otherwise the cluster does not respond to
// reviews.
func (e *Error) IsForbidden() bool { return len(e.Missing) > 0 }

// Error returns the missing rights as rules to paste into a role.
func (e *Error) Error() string {
	if !e.IsForbidden() {
		return fmt.Sprintf("cannot check which objects service account %s/%s may read, so the hooks get no objects: %v",
			e.Account.Namespace, e.Account.Name, e.Unanswered)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; bind a role with these rules to it: the controller continues within a minute\n", e.lack())
	text.WriteString(strings.TrimSuffix(rights.Rules(e.Missing), "\n"))
	if len(e.Troubles) > 0 {
		fmt.Fprintf(&text, "\n# The cluster could not evaluate everything: %s", strings.Join(e.Troubles, "; "))
	}
	return text.String()
}

// Equal reports whether two errors say the same. Nil says nothing.
func (e *Error) Equal(other *Error) bool {
	if e == nil || other == nil {
		return e == other
	}
	if e.Account != other.Account || (e.Unanswered == nil) != (other.Unanswered == nil) {
		return false
	}
	return slices.Equal(e.Missing, other.Missing) && slices.Equal(e.Troubles, other.Troubles) &&
		(e.Unanswered == nil || e.Unanswered.Error() == other.Unanswered.Error())
}

// Summary returns the error without the rules, and says where they are.
func (e *Error) Summary() string {
	if !e.IsForbidden() {
		return e.Error()
	}
	return e.lack() + "; see the condition Ready of the controller for the rules to bind to it"
}

func (e *Error) lack() string {
	return fmt.Sprintf("service account %s/%s lacks permissions to read objects that the controller needs",
		e.Account.Namespace, e.Account.Name)
}

// Unwrap returns the error of the reviews.
func (e *Error) Unwrap() error { return e.Unanswered }

func (e *Error) addTrouble(trouble string) {
	if trouble != "" && !slices.Contains(e.Troubles, trouble) {
		e.Troubles = append(e.Troubles, trouble)
	}
}

// Join returns one error for all errors about an account, the same for any order; nil for none.
func Join(errs []*Error) *Error {
	if len(errs) == 0 {
		return nil
	}
	joined := &Error{Account: errs[0].Account}
	for _, err := range errs {
		joined.Missing = append(joined.Missing, err.Missing...)
		for _, trouble := range err.Troubles {
			joined.addTrouble(trouble)
		}
		joined.Unanswered = cmp.Or(joined.Unanswered, err.Unanswered)
	}
	slices.SortFunc(joined.Missing, compare)
	joined.Missing = slices.Compact(joined.Missing)
	slices.Sort(joined.Troubles)
	return joined
}

func compare(a, b rights.Required) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb),
		cmp.Compare(a.For, b.For))
}
