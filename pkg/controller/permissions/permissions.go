// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

const (
	// RefreshInterval is the age at which an answer of the cluster is refreshed.
	RefreshInterval = 15 * time.Second
	// retryInterval is the time between attempts while the cluster does not answer.
	retryInterval = 5 * time.Second
	// Patience is the time for which an answer remains valid while the cluster does not respond.
	Patience = time.Minute
	// tick is how often the age of answers is checked.
	tick = time.Second
	// parallelReviews is the maximum number of concurrent reviews, and parallelReviewsOfAccount is the maximum for
	// one account.
	parallelReviews          = 8
	parallelReviewsOfAccount = 4
	// reviewTimeout is the timeout of a single review, and of all reviews that a check waits for.
	reviewTimeout = 10 * time.Second
)

// Permissions knows the rights of service accounts. The caller runs it while it is used.
type Permissions struct {
	reviews rights.Reviews
	turns   turns

	mu      sync.Mutex
	answers map[question]*answer
	// asked has an element when an answer was added since Run looked last. Run waits for it while there are no answers.
	asked chan struct{}
	// refreshing are the accounts whose answers are being refreshed.
	refreshing sets.Set[v1alpha1.ServiceAccountReference]
}

// question is whether an account has a right.
type question struct {
	account v1alpha1.ServiceAccountReference
	right   rights.Right
}

// New returns Permissions that ask the cluster through reviews.
func New(reviews rights.Reviews) *Permissions {
	return &Permissions{
		reviews: reviews, answers: map[question]*answer{}, asked: make(chan struct{}, 1),
		refreshing: sets.New[v1alpha1.ServiceAccountReference](),
	}
}

// Run keeps the answers that are in use fresh until ctx ends. It does not wake while there are none.
func (p *Permissions) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-p.asked:
		case <-ctx.Done():
			return
		}
		p.runUntilEmpty(ctx, &running)
	}
}

// runUntilEmpty checks the age of the answers until there are none, or ctx ends.
func (p *Permissions) runUntilEmpty(ctx context.Context, running *sync.WaitGroup) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for !p.isEmpty() {
		select {
		case <-ticker.C:
			p.refresh(ctx, running)
			p.tellAll()
		case <-ctx.Done():
			return
		}
	}
}

func (p *Permissions) isEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.answers) == 0
}

// refresh starts asking again about rights whose answers are old. It does not wait, so an account with many rights does
// not delay the others.
func (p *Permissions) refresh(ctx context.Context, running *sync.WaitGroup) {
	now := time.Now()
	for account, due := range p.due(now) {
		running.Go(func() {
			workqueue.ParallelizeUntil(ctx, parallelReviewsOfAccount, len(due), func(i int) {
				p.ask(ctx, due[i], func(last *verdict) bool { return last.isDue(now) })
			})
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refreshing.Delete(account)
		})
	}
}

// due returns the answers in use that have become old, by account, and notes that these accounts are being
// refreshed. Those of accounts that are being refreshed already are left out. It drops the answers that no
// requirement has needed for a while.
func (p *Permissions) due(now time.Time) map[v1alpha1.ServiceAccountReference][]*answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := map[v1alpha1.ServiceAccountReference][]*answer{}
	for _, a := range p.answers {
		if p.drop(a, now); len(a.requirements) > 0 && a.last.Load().isDue(now) && !p.refreshing.Has(a.account) {
			due[a.account] = append(due[a.account], a)
		}
	}
	for account := range due {
		p.refreshing.Insert(account)
	}
	return due
}

// tellAll notifies the requirements whose answers have changed, or have become too old to count.
func (p *Permissions) tellAll() {
	now := time.Now()
	isStale := func(a *answer) bool { return a.told != unasked && a.told != a.last.Load().outcome(now) }
	for _, changed := range p.inUse(isStale) {
		p.tell(changed)
	}
}

// inUse returns the answers that are in use and fulfil a condition. condition is called with mu
// held.
func (p *Permissions) inUse(condition func(*answer) bool) (found []*answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, answer := range p.answers {
		if condition(answer) {
			found = append(found, answer)
		}
	}
	return found
}

// Allows reports whether an account has a right that it needs only occasionally, such as one for each namespace of
// parents. It sends a review if the last answer is older than RefreshInterval, or if there is none. The answer is kept
// for Patience after the last use, and is not refreshed in the background during that time. The error says that the
// cluster does not respond, or it is the error of ctx.
func (p *Permissions) Allows(
	ctx context.Context, account v1alpha1.ServiceAccountReference, right rights.Right,
) (bool, error) {
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
		return false, fmt.Errorf("cannot check whether service account %s/%s may %s %s: %w",
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
		default: // Run has not yet received the last one
		}
	}
	return known
}

// drop drops the answer if no requirement needs it any longer. mu must be held.
func (p *Permissions) drop(a *answer, now time.Time) {
	if len(a.requirements) == 0 && !now.Before(a.kept) {
		delete(p.answers, a.question)
	}
}
