// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Allows reports whether an account has a right that is needed now and then, such as one for each namespace of
// parents. The cluster is asked if its last answer is older than RefreshInterval, or if there is none. The
// answer is kept for Patience after the last use, and is not asked for in the background meanwhile. The error
// says that the cluster cannot be asked, or it is that of ctx.
func (p *Permissions) Allows(ctx context.Context, account v1alpha1.ServiceAccountReference, right rights.Right) (bool, error) {
	a := p.occasional(question{account, right}, time.Now())
	limited, cancel := context.WithTimeoutCause(ctx, reviewTimeout, errNoAnswer)
	defer cancel()
	p.ask(limited, a, func(last *verdict) bool { return last == nil || last.isDue(time.Now()) })
	last := a.last.Load()
	switch last.outcome(time.Now()) {
	case allowed:
		return true, nil
	case refused:
		return false, nil
	case unasked:
		return false, context.Cause(ctx)
	default:
		return false, fmt.Errorf("the cluster cannot be asked whether service account %s/%s may %s %s: %w",
			account.Namespace, account.Name, right.Verb, right.GroupResource, last.err)
	}
}

// occasional returns the answer to a question, and keeps it for a while.
func (p *Permissions) occasional(asked question, now time.Time) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.answerTo(asked)
	a.kept = now.Add(Patience)
	return a
}

// answerTo returns the answer to a question, a new one if there is none. mu must be held.
func (p *Permissions) answerTo(asked question) *answer {
	known := p.answers[asked]
	if known == nil {
		known = &answer{question: asked, requirements: sets.New[*Requirement]()}
		p.answers[asked] = known
		select {
		case p.asked <- struct{}{}:
		default: // Run has not heard of the last one yet
		}
	}
	return known
}

// drop drops the answer if nobody needs it any more. mu must be held.
func (p *Permissions) drop(a *answer, now time.Time) {
	if len(a.requirements) == 0 && !now.Before(a.kept) {
		delete(p.answers, a.question)
	}
}
