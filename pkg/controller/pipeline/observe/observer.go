// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Observer observes the parents of one controller and their children.
type Observer struct {
	// Targets are the types of the parents, each kind once.
	Targets []*Target
	// Children are the views of the child types.
	Children []*cache.View
	// Claims decides which objects are children of which parent.
	Claims Claims
	// Finalizer is the controller's finalizer.
	Finalizer string
	// Finalizes is true if the controller has a finalize hook, and so adds its finalizer to its parents.
	Finalizes bool
	// Namespaces are the namespaces in which the controller handles parents and children.
	Namespaces object.Namespaces
	// Schemas are the schemas of the types of parents and children.
	Schemas *Schemas
}

// Claim adds the parent's children to the snapshot. It returns an error if the parent's selector is not
// usable.
func (o *Observer) Claim(snapshot *pipeline.Snapshot) error {
	err := o.Claims.Prepare(snapshot)
	if key := object.KeyOf(snapshot.Parent); o.Get(key) == nil {
		o.Claims.Forget(key) // the parent has been deleted in the meantime
	}
	if err != nil {
		return err
	}
	snapshot.Children = make([]pipeline.Group, len(o.Children))
	for i, view := range o.Children {
		snapshot.Children[i] = o.Claims.Claim(snapshot, view)
		snapshot.Children[i].Schema = o.Schemas.of(view.Type)
	}
	return nil
}

// Get returns an object of a parent type from the cache, whether or not the controller handles it. It
// returns nil if there is none.
func (o *Observer) Get(parent object.Key) *object.Object {
	target := o.target(parent.GroupKind)
	if target == nil {
		return nil
	}
	return target.View.Get(parent.NamespacedName)
}

// target returns the target of a kind; nil if it is not a kind of parents.
func (o *Observer) target(kind schema.GroupKind) *Target {
	i := slices.IndexFunc(o.Targets, func(target *Target) bool { return target.View.Type.GroupKind() == kind })
	if i < 0 {
		return nil
	}
	return o.Targets[i]
}

// Parents returns the parents of the controller that the caches show.
func (o *Observer) Parents() []*object.Object {
	var parents []*object.Object
	for _, target := range o.Targets {
		for _, parent := range target.View.List() {
			if o.handles(target, parent) {
				parents = append(parents, parent)
			}
		}
	}
	return parents
}

// CountChange returns the change in the number of parents when an object of a parent type changes: one, zero
// or minus one. Before is nil if the object is new, after is nil if it is gone.
func (o *Observer) CountChange(before, after *object.Object) int {
	count := func(parent *object.Object) int {
		if parent == nil {
			return 0
		}
		if target := o.target(parent.GroupVersionKind().GroupKind()); target == nil || !o.handles(target, parent) {
			return 0
		}
		return 1
	}
	return count(after) - count(before)
}

// Parent begins the snapshot of a parent with the parent from the cache. It returns nil if the
// parent is gone or the controller does not handle it. Claim adds the children.
func (o *Observer) Parent(key object.Key) *pipeline.Snapshot {
	parent := o.Get(key)
	if parent == nil {
		return nil
	}
	return o.ParentAs(parent)
}

// ParentAs is Parent for the form of a parent that the host has just stored, which the cache may not show yet.
func (o *Observer) ParentAs(parent *object.Object) *pipeline.Snapshot {
	target := o.target(parent.GroupVersionKind().GroupKind())
	if !o.handles(target, parent) {
		return nil
	}
	alive := parent.DeletionTimestamp == nil
	schemasVersion := o.Schemas.currentVersion() // read first: a newer schema must not get an older version
	within := o.isWithin(parent)
	needsFinalizer := o.Finalizes && within && (alive || o.hasFinalizer(parent))
	return &pipeline.Snapshot{
		ParentType:     target.View.Type,
		ParentSchema:   o.Schemas.of(target.View.Type),
		SchemasVersion: schemasVersion,
		Parent:         parent,
		ForeignStatus:  target.ForeignStatus,
		Finalizer:      o.Finalizer,
		NeedsFinalizer: needsFinalizer,
		Finalizing:     o.Finalizes && within && (!alive || !target.selects(parent)),
		Managed:        within && (alive || needsFinalizer && !isLeftToGarbageCollector(parent)),
		Outside:        !within,
	}
}

// Handles reports whether the controller handles an object of any kind.
func (o *Observer) Handles(object *object.Object) bool {
	target := o.target(object.GroupVersionKind().GroupKind())
	return target != nil && o.handles(target, object)
}

// handles reports whether the controller handles an object of a target: its rules select the object in one of
// its namespaces, or the object still has its finalizer because they once did.
func (o *Observer) handles(target *Target, parent *object.Object) bool {
	return o.isWithin(parent) && target.selects(parent) || o.hasFinalizer(parent)
}

func (o *Observer) hasFinalizer(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, o.Finalizer)
}

// isLeftToGarbageCollector reports whether the deletion of a parent leaves its children to the host's garbage
// collector, which deletes or orphans them.
func isLeftToGarbageCollector(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, metav1.FinalizerDeleteDependents) ||
		slices.Contains(parent.Finalizers, metav1.FinalizerOrphanDependents)
}

// Target is one type of parents.
type Target struct {
	View *cache.View
	// Rules select the objects of the type that are parents. One rule that matches is enough.
	Rules []Rule
	// ForeignStatus is true if the type does not come from a CustomResourceDefinition.
	ForeignStatus bool
}

// Rule selects parents of one type.
type Rule struct {
	Labels      labels.Selector
	Annotations AnnotationSelector
	// IgnoreStatusChanges is true if a change of a parent's status does not start a sync.
	IgnoreStatusChanges bool
}

func (r *Rule) selects(parent *object.Object) bool {
	return r.Labels.Matches(labels.Set(parent.Labels)) && r.Annotations.Matches(parent)
}

// selects reports whether any rule selects the parent.
func (t *Target) selects(parent *object.Object) bool {
	return slices.ContainsFunc(t.Rules, func(rule Rule) bool { return rule.selects(parent) })
}

// ignoresStatus reports whether changes of the parent's status do not start a sync: at least one rule ignores
// them, and so do all rules that select the parent.
func (t *Target) ignoresStatus(parent *object.Object) bool {
	ignores := false
	for i := range t.Rules {
		rule := &t.Rules[i]
		if !rule.IgnoreStatusChanges && rule.selects(parent) {
			return false
		}
		ignores = ignores || rule.IgnoreStatusChanges
	}
	return ignores
}

// NeedsAllObjects reports whether a controller with these rules for a type needs all objects of the type in its
// cache. A controller that finalizes does: it also handles parents that still have its finalizer although no rule
// selects them any longer, and labels cannot find these.
func NeedsAllObjects(rules []Rule, finalizes bool) bool {
	return finalizes || slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Labels.Empty() })
}

// AcquireParents returns the view of the parents of a type. It shows only the objects that the rules can select,
// unless the controller needs all of them. Outside of the controller's namespaces, it shows only objects with the
// controller's finalizer.
func (o *Observer) AcquireParents(informers *cache.Informers, of object.Type, rules []Rule) *cache.View {
	var selectors []labels.Selector
	if !NeedsAllObjects(rules, o.Finalizes) {
		for _, rule := range rules {
			selectors = append(selectors, rule.Labels)
		}
	}
	if o.Namespaces.All() {
		return informers.AcquireSelected(of, selectors...)
	}
	return informers.AcquireFiltered(of, func(parent *object.Object) bool {
		return o.isWithin(parent) || o.hasFinalizer(parent)
	}, selectors...)
}

// AcquireChildren returns the view of a child type. It shows the objects in the controller's namespaces.
func (o *Observer) AcquireChildren(informers *cache.Informers, of object.Type) *cache.View {
	if o.Namespaces.All() {
		return informers.Acquire(of)
	}
	return informers.AcquireFiltered(of, o.isWithin)
}

// isWithin reports whether an object is in one of the controller's namespaces.
func (o *Observer) isWithin(object *object.Object) bool { return o.Namespaces.Has(object.Namespace) }

// Schemas has the schemas that the host publishes for the types of parents and children. A nil Schemas is
// empty. It is safe for concurrent use.
type Schemas struct {
	mu    sync.RWMutex
	known map[object.Type]*openapi.Type
	// version changes with the known schemas. It is never zero.
	version uint64
}

// NewSchemas returns schemas that begin with the known ones.
func NewSchemas(known map[object.Type]*openapi.Type) *Schemas {
	return &Schemas{known: maps.Clone(known), version: 1}
}

// Update replaces the schemas of the types that the host publishes now. Those of other types stay. Update reports
// whether any schema has changed.
func (s *Schemas) Update(published map[object.Type]*openapi.Type) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[object.Type]*openapi.Type{}
	}
	for of, now := range published {
		changed = changed || s.known[of] != now
		s.known[of] = now
	}
	if changed {
		s.version++
	}
	return changed
}

// currentVersion returns a number that changes with the schemas.
func (s *Schemas) currentVersion() uint64 {
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version
}

func (s *Schemas) of(of object.Type) *openapi.Type {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[of]
}
