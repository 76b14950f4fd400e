// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package related observes the objects that customize hooks ask for beside parents and
// children: it remembers the answers, watches the types they name as long as they name
// them, and knows which parents a change concerns.
package related

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Config is what an Observer works with.
type Config struct {
	Watches *cache.Informers
	// Resolve finds the types that rules name.
	Resolve ResolveFunc
	// Ask calls the customize hook about the parent of a snapshot.
	Ask func(ctx context.Context, snapshot *pipeline.Snapshot) ([]pipeline.RelatedRule, error)
	// Confined keeps the rules of namespaced parents within their namespaces, as
	// protocol version v1 of the customize hook does.
	Confined bool
	// Changed has parents synced.
	Changed func(parents ...pipeline.Key)
}

// Observer observes the related objects of the parents of one controller.
type Observer struct {
	Config
	// patience is how long the first list of a type may take without it being an error.
	patience time.Duration

	mu       sync.RWMutex
	sources  map[pipeline.Type]*source
	byAnswer map[*Answer][]*rule
	// missing are the answers with a rule whose type the host does not have.
	missing map[*Answer]missingType
}

// New makes an observer, which must be closed.
func New(config Config) *Observer {
	config.Resolve = recently(config.Resolve)
	return &Observer{
		Config:   config,
		patience: 10 * time.Second,
		sources:  map[pipeline.Type]*source{},
		byAnswer: map[*Answer][]*rule{},
		missing:  map[*Answer]missingType{},
	}
}

// Waiting is the error of an observation that the first list of a related type has to
// come before. The parent is synced again when it has.
type Waiting struct {
	// After is how long to wait for that at most.
	After time.Duration
}

func (w *Waiting) Error() string { return "the related objects have not been listed yet" }

// Observe puts the related objects of its parent into the snapshot. The hook is asked if
// the last answer does not last; where the hook fails, or a rule of its answer cannot be
// met, it is asked again the next time. The error is a *Waiting when all is well and
// there is nothing to see yet. What the answer asks for is watched until Forget is given
// it. A parent may have several, about several versions of it.
func (o *Observer) Observe(ctx context.Context, answer *Answer, snapshot *pipeline.Snapshot) error {
	err := o.bringUpToDate(ctx, answer, snapshot)
	o.note(answer, pipeline.KeyOf(snapshot.Parent), err)
	if err != nil {
		if _, passing := errors.AsType[*discovery.Error](err); !passing {
			*answer = Answer{}
		}
		return err
	}
	if err := o.follow(answer, answer.rules); err != nil {
		return err
	}
	return o.show(snapshot, answer.rules)
}

// bringUpToDate makes the answer hold the rules for the parent as it and the host's
// types are now. They stay the same as long as neither has changed.
func (o *Observer) bringUpToDate(ctx context.Context, answer *Answer, snapshot *pipeline.Snapshot) error {
	if !answer.lasts(snapshot.Parent, time.Now()) {
		written, err := o.Ask(ctx, snapshot)
		if err != nil {
			return err
		}
		*answer = Answer{about: versionOf(snapshot.Parent), given: time.Now(), written: written}
	}
	found, err := o.Resolve.find(ctx, answer.written)
	if err != nil {
		return err
	}
	if slices.EqualFunc(found, answer.found, sameTypes) {
		return nil
	}
	answer.found = found
	answer.rules, err = narrow(snapshot.Parent, o.Confined, found)
	return err
}

// show puts into the snapshot what the rules select, if the caches can tell.
func (o *Observer) show(snapshot *pipeline.Snapshot, rules []*rule) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if err := o.listed(rules); err != nil {
		return err
	}
	snapshot.Related = o.groups(rules)
	return nil
}

// listed returns nil if all that the rules are about has been listed.
func (o *Observer) listed(rules []*rule) error {
	var waiting *Waiting
	for _, r := range rules {
		for _, of := range r.needs() {
			source := o.sources[of]
			if source.synced() {
				continue
			}
			left := o.patience - time.Since(source.since)
			if left <= 0 {
				return notListed(source.watch)
			}
			if waiting == nil || left < waiting.After {
				waiting = &Waiting{After: left}
			}
		}
	}
	if waiting != nil {
		return waiting
	}
	return nil
}

func notListed(watch *cache.View) error {
	why := watch.ListError()
	if why == nil {
		why = errors.New("the host has not answered yet")
	}
	return fmt.Errorf("related %s cannot be observed: %w", watch.Type, why)
}
