// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// AskFunc calls the customize hook for the parent of a snapshot. The warnings are about its answer.
type AskFunc func(ctx context.Context, snapshot *pipeline.Snapshot) ([]pipeline.RelatedRule, []pipeline.Warning, error)

// Config configures an Observer.
type Config struct {
	Informers *cache.Informers
	// Resolve returns the types that rules name.
	Resolve ResolveFunc
	Ask     AskFunc
	// Confinement says why the rules of namespaced parents select only in the parents' namespaces, and how to
	// change that; empty if they are not confined.
	Confinement string
	// NotShown says which hooks do not see objects outside the namespace of a namespaced parent, and how to change
	// that; empty if all hooks do.
	NotShown string
	// Namespaces are the namespaces that related objects may be in.
	Namespaces object.Namespaces
	// Changed enqueues parents.
	Changed func(parents ...object.Key)
	// Require requires rights of the controller's service account, and calls changed when they may have changed. It is
	// nil if the controller has no service account.
	Require func(required []rights.Required, changed func()) *permissions.Requirement
	// Permit returns an error unless the user of a preview has the rights to read what the rules of an answer select. It
	// is called before anything is selected. Nil permits everything.
	Permit func(ctx context.Context, reads []rights.Required) error
	// Types are the only types that the hook may ask for; if there are none, it may ask for any.
	Types []v1alpha1.ResourceRule
}

// Observer observes the related objects of the parents of one controller.
type Observer struct {
	Config
	// patience is the time that the first list of a type may take before Observe returns an error.
	patience time.Duration

	mu       sync.RWMutex
	sources  map[object.Type]*source
	byAnswer map[*Answer][]*rule
	// missing has the answers with a rule for a type that the host does not have.
	missing map[*Answer]missingType
	// permissions has entries only if Require is set.
	permissions map[*Answer]permission
	refusals    refusals
}

// New returns an observer, which the caller must close.
func New(config Config) *Observer {
	config.Resolve = cacheTypes(config.Resolve)
	return &Observer{
		Config:   config,
		patience: 10 * time.Second,
		sources:  map[object.Type]*source{},
		byAnswer: map[*Answer][]*rule{},
		missing:  map[*Answer]missingType{},

		permissions: map[*Answer]permission{},
	}
}

// NotListedError means that a related type has not been listed yet. The parent is enqueued once it has been listed.
type NotListedError struct {
	// After is the maximum time to wait for that.
	After time.Duration
}

func (w *NotListedError) Error() string { return "the related objects have not been listed yet" }

// Observe adds the related objects of its parent to the snapshot. It calls the hook if the answer is no longer
// valid. If the hook fails, or a rule of its answer is not possible, the next Observe calls the hook again. The
// error is a *NotListedError if the objects have not been listed yet, and a *permissions.Error if the
// controller's service account may not read them. In both cases the answer stays valid.
//
// Events of the objects that the rules select enqueue the parent until Forget is called with the answer. A parent may
// have several answers, for several versions of it.
func (o *Observer) Observe(ctx context.Context, answer *Answer, snapshot *pipeline.Snapshot) error {
	err := o.bringUpToDate(ctx, answer, snapshot)
	o.note(answer, object.KeyOf(snapshot.Parent), err)
	if err != nil {
		if _, passing := errors.AsType[*discovery.Error](err); !passing {
			*answer = Answer{}
			o.refusals.note(answer, nil) // there are no rules left to refuse
		}
		return err
	}
	if err := o.permit(ctx, answer); err != nil {
		return err
	}
	if err := o.follow(answer, answer.rules); err != nil {
		return err
	}
	return o.show(snapshot, answer.rules)
}

// bringUpToDate updates the rules of the answer for the current parent and the current types of the host. While
// neither changes, the rules stay the same.
func (o *Observer) bringUpToDate(ctx context.Context, answer *Answer, snapshot *pipeline.Snapshot) error {
	if !answer.lasts(snapshot.Parent, time.Now()) {
		written, warnings, err := o.Ask(ctx, snapshot)
		if err != nil {
			return err
		}
		if err := restriction(o.Types).check(written); err != nil {
			return err
		}
		*answer = Answer{about: versionOf(snapshot.Parent), given: time.Now(), written: written, warnings: warnings}
	}
	found, err := o.Resolve.find(ctx, answer.written)
	if err != nil {
		return err
	}
	if slices.EqualFunc(found, answer.found, sameTypes) {
		return nil
	}
	answer.found = found
	if answer.rules, err = o.narrow(snapshot.Parent, found); err != nil {
		return err
	}
	answer.notShown = o.notShown(snapshot.Parent, found)
	answer.reads, err = o.reads(answer.rules)
	return err
}

// show adds the objects that the rules select to the snapshot, if they have been listed.
func (o *Observer) show(snapshot *pipeline.Snapshot, rules []*rule) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if err := o.listed(rules); err != nil {
		return err
	}
	snapshot.Related = o.groups(rules)
	return nil
}

// listed returns nil if all types that the rules need have been listed.
func (o *Observer) listed(rules []*rule) error {
	var waiting *NotListedError
	for _, r := range rules {
		for _, of := range r.needs() {
			source := o.sources[of]
			if source.synced() {
				continue
			}
			left := o.patience - time.Since(source.since)
			if left <= 0 {
				return notListed(source.view)
			}
			if waiting == nil || left < waiting.After {
				waiting = &NotListedError{After: left}
			}
		}
	}
	if waiting != nil {
		return waiting
	}
	return nil
}

func notListed(view *cache.View) error {
	why := view.ListError()
	if why == nil {
		why = errors.New("the cluster has not answered yet")
	}
	return fmt.Errorf("related %s cannot be observed: %w", view.Type, why)
}

// groups returns the objects that the rules select: one group for each type, in the order of the rules, with each
// object once.
func (o *Observer) groups(rules []*rule) []pipeline.Related {
	var groups []pipeline.Related
	for _, r := range rules {
		i := slices.IndexFunc(groups, func(group pipeline.Related) bool { return group.Type == r.of })
		if i < 0 {
			i = len(groups)
			groups = append(groups, pipeline.Related{Type: r.of})
		}
		groups[i].Objects = append(groups[i].Objects, o.selected(r)...)
	}
	for i := range groups {
		slices.SortFunc(groups[i].Objects, byName)
		groups[i].Objects = slices.CompactFunc(groups[i].Objects, func(a, b *object.Object) bool { return byName(a, b) == 0 })
	}
	return groups
}

func byName(a, b *object.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// selected returns the objects that a rule selects.
func (o *Observer) selected(r *rule) []*object.Object {
	labelsOf := o.labelsOf(r.namespaceType)
	return slices.DeleteFunc(o.candidates(r), func(candidate *object.Object) bool {
		return !r.selects(candidate, labelsOf)
	})
}

// candidates returns a superset of the objects that a rule selects, as small as the indexes of the cache allow.
func (o *Observer) candidates(r *rule) []*object.Object {
	view := o.sources[r.of].view
	switch {
	case len(r.names) > 0 && !r.of.Namespaced:
		return named(view, "", r.names)
	case len(r.within) > 0:
		found := r.candidatesIn(view, r.within[0])
		for _, namespace := range r.within[1:] {
			found = append(found, r.candidatesIn(view, namespace)...)
		}
		return found
	case r.namespaces != nil:
		var found []*object.Object
		for _, namespace := range o.sources[r.namespaceType].view.List() {
			if r.namespaces.Matches(labels.Set(namespace.Labels)) {
				found = append(found, view.In(namespace.Name)...)
			}
		}
		return found
	default:
		return view.List()
	}
}

func (r *rule) candidatesIn(view *cache.View, namespace string) []*object.Object {
	if len(r.names) > 0 {
		return named(view, namespace, r.names)
	}
	return view.In(namespace)
}

func named(view *cache.View, namespace string, names []string) []*object.Object {
	var found []*object.Object
	for _, name := range names {
		if o := view.Get(types.NamespacedName{Namespace: namespace, Name: name}); o != nil {
			found = append(found, o)
		}
	}
	return found
}
