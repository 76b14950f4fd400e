// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// mostCounted is how many objects of a type are looked at to count the parents that a change lets
	// go of.
	mostCounted = 500
	// mostLists is how many types of parents are looked at.
	mostLists = 5
)

// letGo returns warnings about the parents that a change of a spec lets go of. It asks the host only
// if the change may do that: for each type of parents, whether the author may list them, and for a
// list. To who may not list them, the numbers would tell what is in them.
func (h Host) letGo(ctx context.Context, author *reviewer, name string, stored, updated *controller) (warnings []string) {
	var changes []*parentChange
	for _, rule := range stored.parents {
		change := newParentChange(name, rule.GroupResource(), stored, updated)
		isNew := !slices.ContainsFunc(changes, func(known *parentChange) bool { return known.resource == change.resource })
		if isNew && change.mayLetGo() && len(changes) < mostLists {
			changes = append(changes, change)
		}
	}
	var group sync.WaitGroup
	found := make([][]string, len(changes))
	for i, change := range changes {
		group.Go(func() { found[i] = change.warnings(ctx, h, author) })
	}
	group.Wait()
	return slices.Concat(found...)
}

// parentChange is what a change of a spec does to the parents of one resource.
type parentChange struct {
	resource schema.GroupResource
	// finalizer is the finalizer of the controller.
	finalizer       string
	stored, updated *controller
	// before and after are the rules for the resource.
	before, after []typeRule
}

func newParentChange(name string, resource schema.GroupResource, stored, updated *controller) *parentChange {
	change := &parentChange{resource: resource, stored: stored, updated: updated, finalizer: v1alpha1.CompositeFinalizerPrefix + name}
	if stored.decorates {
		change.finalizer = v1alpha1.DecoratorFinalizerPrefix + name
	}
	isOther := func(rule typeRule) bool { return rule.GroupResource() != resource }
	change.before = slices.DeleteFunc(slices.Clone(stored.parents), isOther)
	change.after = slices.DeleteFunc(slices.Clone(updated.parents), isOther)
	return change
}

// mayLetGo reports whether there can be parents that the change lets go of.
func (c *parentChange) mayLetGo() bool {
	if c.stored.finalizes && !c.updated.finalizes {
		return true
	}
	covers := func(before typeRule) bool {
		return slices.ContainsFunc(c.after, func(after typeRule) bool {
			return isAll(&after) || apiequality.Semantic.DeepEqual(before.selector, after.selector) && apiequality.Semantic.DeepEqual(before.annotations, after.annotations)
		})
	}
	return slices.ContainsFunc(c.before, func(before typeRule) bool { return !covers(before) })
}

// isAll reports whether a rule selects all objects of its resource.
func isAll(rule *typeRule) bool {
	return len(requirements(rule.selector)) == 0 &&
		(rule.annotations == nil || len(rule.annotations.MatchAnnotations) == 0 && len(rule.annotations.MatchExpressions) == 0)
}

// warnings counts the parents that the change lets go of, by what becomes of them.
func (c *parentChange) warnings(ctx context.Context, h Host, author *reviewer) (warnings []string) {
	if mayList, err := author.review(ctx, right{object{GroupResource: c.resource}, "list"}); err != nil || !mayList {
		klog.FromContext(ctx).V(2).Info("Not counting the parents that a change lets go of", "resource", c.resource, "mayList", mayList, "err", err)
		return nil
	}
	options := metav1.ListOptions{Limit: mostCounted}
	if selector := c.before[0].selector; len(c.before) == 1 && selector != nil {
		if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil {
			options.LabelSelector = parsed.String()
		}
	}
	list, err := h.Objects.List(ctx, c.before[0].GroupVersionResource, options)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to count the parents that a change lets go of", "resource", c.resource, "err", err)
		return nil
	}
	var finalized, released, kept, dropped int
	for i := range list.Items {
		parent := &list.Items[i]
		was, is := anySelects(c.before, parent), anySelects(c.after, parent)
		switch hasFinalizer := slices.Contains(parent.Finalizers, c.finalizer); {
		case is && hasFinalizer && !c.updated.finalizes:
			kept++
		case is || !was:
		case hasFinalizer && c.updated.finalizes && len(c.after) > 0:
			finalized++
		case hasFinalizer:
			released++
		default:
			dropped++
		}
	}
	more := list.Continue != ""
	for _, of := range []struct {
		path     *field.Path
		count    int
		one, all string
	}{
		{c.path(), finalized, "stops matching: its finalize hook will be called", "stop matching: their finalize hook will be called"},
		{c.path(), released, "stops matching: its finalizer is removed without a call of the finalize hook, and its children stay as they are",
			"stop matching: their finalizer is removed without a call of the finalize hook, and their children stay as they are"},
		{c.path(), dropped, "stops matching: it is not synced any more, and its children stay as they are",
			"stop matching: they are not synced any more, and their children stay as they are"},
		{field.NewPath("spec", "hooks", "finalize"), kept, "loses its finalizer: no hook will be called when it is deleted",
			"lose their finalizer: no hook will be called when they are deleted"},
	} {
		if of.count > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %s", of.path, c.counted(of.count, more, of.one, of.all)))
		}
	}
	return warnings
}

func anySelects(rules []typeRule, parent *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(rules, func(rule typeRule) bool { return rule.selects(parent) })
}

// path returns the field that selects parents.
func (c *parentChange) path() *field.Path {
	if c.stored.decorates {
		return field.NewPath("spec", "resources")
	}
	return field.NewPath("spec", "parentResource")
}

// counted returns the sentence about a number of parents. There may be more of them.
func (c *parentChange) counted(count int, more bool, one, all string) string {
	switch {
	case more && count == 1:
		return fmt.Sprintf("at least 1 parent (%s) %s", c.resource, one)
	case more:
		return fmt.Sprintf("at least %d parents (%s) %s", count, c.resource, all)
	case count == 1:
		return fmt.Sprintf("1 parent (%s) %s", c.resource, one)
	}
	return fmt.Sprintf("%d parents (%s) %s", count, c.resource, all)
}
