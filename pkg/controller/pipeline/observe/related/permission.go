// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// maxRights is the maximum number of rights that the rules of one answer may need: as many as a spec can need to
// list and watch its types in its namespaces. Each of them is reviewed again and again.
const maxRights = 2048

// permission has the rights that are required to show the objects that rules select.
type permission struct {
	rules       []*rule
	requirement *permissions.Requirement
}

// permit returns an error if the hook may not see the objects that the answer's rules select. The parent is enqueued
// when that may have changed.
func (o *Observer) permit(ctx context.Context, answer *Answer) error {
	if o.Permit != nil {
		if err := o.Permit(ctx, answer.reads); err != nil {
			return err
		}
	}
	if o.Require == nil {
		return nil
	}
	err := o.requirement(answer).Check(ctx)
	o.refusals.note(answer, err)
	return err
}

// requirement returns the rights that the answer's rules require. It stays the same while the rules do.
func (o *Observer) requirement(answer *Answer) *permissions.Requirement {
	o.mu.RLock()
	before := o.permissions[answer]
	o.mu.RUnlock()
	if slices.Equal(before.rules, answer.rules) {
		return before.requirement
	}
	after := permission{rules: answer.rules}
	if len(answer.rules) > 0 {
		parent := answer.rules[0].parent
		after.requirement = o.Require(answer.reads, func() { o.Changed(parent) })
	}
	o.setPermission(answer, after)
	return after.requirement
}

// setPermission replaces the permission of an answer, or removes it if the new one has no rules.
func (o *Observer) setPermission(answer *Answer, after permission) {
	o.mu.Lock()
	before := o.permissions[answer]
	o.permissions[answer] = after
	if len(after.rules) == 0 {
		delete(o.permissions, answer)
	}
	o.mu.Unlock()
	before.requirement.Close()
}

// reads returns the rights to read the objects that the rules select, each once. It returns an error if there are too
// many. Without Require and Permit, no rights are needed.
func (o *Observer) reads(rules []*rule) (required []rights.Required, err error) {
	if o.Require == nil && o.Permit == nil {
		return nil, nil
	}
	const what = "the answer of the customize hook"
	known := sets.New[rights.Required]()
	add := func(of object.Type, within []string, what string) {
		for _, one := range permissions.ToShow(of, within, what) {
			if !known.Has(one) {
				known.Insert(one)
				required = append(required, one)
			}
		}
	}
	for _, r := range rules {
		add(r.of, r.within, what)
		if r.namespaces != nil {
			add(r.namespaceType, nil, "a namespaceSelector in "+what)
		}
		if len(required) > maxRights {
			return nil, fmt.Errorf("customize hook: the answer needs more than %d read permissions: select fewer types, or "+
				"fewer namespaces", maxRights)
		}
	}
	return required, nil
}

// Refusal says why the hook may not see related objects; nil if it may see all.
func (o *Observer) Refusal() *permissions.Error { return o.refusals.joined() }

// forgetPermission drops the permission and the refusal of an answer.
func (o *Observer) forgetPermission(answer *Answer) {
	o.setPermission(answer, permission{})
	o.refusals.note(answer, nil)
}

// refusalOf returns the error as a refusal; nil if it is another error.
func refusalOf(err error) *permissions.Error {
	refusal, _ := errors.AsType[*permissions.Error](err)
	return refusal
}

// refusals says why the hook may not see objects that its answers ask for. It is safe for concurrent use. The zero
// value is empty.
type refusals struct {
	mu       sync.Mutex
	byAnswer map[*Answer]*permissions.Error
	// all is one error for all refusals; nil if there are none, or if joined has to make it.
	all *permissions.Error
}

// note records the result of a check. The same refusal again changes nothing.
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
