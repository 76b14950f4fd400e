// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"maps"
	"slices"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
)

// refusals are why the objects that answers ask for may not be shown. Its methods may be called
// concurrently. The zero value has none.
type refusals struct {
	mu       sync.Mutex
	byAnswer map[*Answer]*permissions.Error
	// all is one error for all; nil if there are none, or if it has to be made.
	all *permissions.Error
}

// note notes the result of a check. The same refusal again changes nothing.
func (r *refusals) note(answer *Answer, err error) {
	refusal := refusalOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if refusal.Equal(r.byAnswer[answer]) {
		return
	}
	r.all = nil
	switch {
	case refusal == nil:
		delete(r.byAnswer, answer)
	case r.byAnswer == nil:
		r.byAnswer = map[*Answer]*permissions.Error{answer: refusal}
	default:
		r.byAnswer[answer] = refusal
	}
}

// joined returns one error for all refusals; nil if there are none.
func (r *refusals) joined() *permissions.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil && len(r.byAnswer) > 0 {
		r.all = permissions.Join(slices.Collect(maps.Values(r.byAnswer)))
	}
	return r.all
}
