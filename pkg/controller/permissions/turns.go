// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"slices"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// turns shares the reviews that may run at once among accounts. An account never has all of them, and of the accounts
// that wait, the one with the fewest comes first. So an account that needs many rights delays another one by one
// review, however slow the cluster is. The zero value is ready for use.
type turns struct {
	mu    sync.Mutex
	taken int
	// takenBy counts the turns of each account.
	takenBy map[v1alpha1.ServiceAccountReference]int
	// waiting are those who wait for a turn, the first that came first.
	waiting []*turn
}

// turn is the turn of one waiting caller.
type turn struct {
	account v1alpha1.ServiceAccountReference
	// given is closed when it is given.
	given chan struct{}
}

// take waits for a turn, which must be given back if it returns true, or until ctx is done.
func (t *turns) take(ctx context.Context, account v1alpha1.ServiceAccountReference) bool {
	mine := &turn{account, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.share()
	t.mu.Unlock()
	select {
	case <-mine.given:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, mine)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // it was given meanwhile
		t.giveBack(account)
	}
	return false
}

// giveBack ends a turn.
func (t *turns) giveBack(account v1alpha1.ServiceAccountReference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	if t.takenBy[account]--; t.takenBy[account] == 0 {
		delete(t.takenBy, account)
	}
	t.share()
}

// share gives the turns that are free to those who wait. mu must be held.
func (t *turns) share() {
	for t.taken < parallelReviews {
		next := t.next()
		if next < 0 {
			return
		}
		given := t.waiting[next]
		t.waiting = slices.Delete(t.waiting, next, next+1)
		if t.takenBy == nil {
			t.takenBy = map[v1alpha1.ServiceAccountReference]int{}
		}
		t.taken++
		t.takenBy[given.account]++
		close(given.given)
	}
}

// next returns the index of the next waiter: the first one of the account with the fewest turns. It returns -1 if
// there is none.
func (t *turns) next() int {
	next, fewest := -1, parallelReviewsOfAccount
	for i, one := range t.waiting {
		if taken := t.takenBy[one.account]; taken < fewest {
			next, fewest = i, taken
		}
	}
	return next
}
