// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"

// fairQueue has the names of controllers that wait to be reconciled. The accounts that controllers act as take turns:
// one with a thousand controllers delays another by one. It is a workqueue.Queue, whose user guards it.
type fairQueue struct {
	accountOf func(name string) host.Account
	// waiting are the names of each account, and turns the accounts with names, the next one first.
	waiting map[host.Account][]string
	turns   []host.Account
	length  int
}

func newFairQueue(accountOf func(name string) host.Account) *fairQueue {
	return &fairQueue{accountOf: accountOf, waiting: map[host.Account][]string{}}
}

// Touch implements workqueue.Queue. A name keeps its place.
func (q *fairQueue) Touch(string) {}

// Push implements workqueue.Queue.
func (q *fairQueue) Push(name string) {
	account := q.accountOf(name)
	if len(q.waiting[account]) == 0 {
		q.turns = append(q.turns, account)
	}
	q.waiting[account] = append(q.waiting[account], name)
	q.length++
}

// Len implements workqueue.Queue.
func (q *fairQueue) Len() int { return q.length }

// Pop implements workqueue.Queue.
func (q *fairQueue) Pop() string {
	account := q.turns[0]
	q.turns = q.turns[1:]
	names := q.waiting[account]
	if len(names) > 1 {
		q.waiting[account] = names[1:]
		q.turns = append(q.turns, account)
	} else {
		delete(q.waiting, account)
	}
	q.length--
	return names[0]
}
