// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
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
func (h Host) letGo(ctx context.Context, author *rights.Reviewer, name string, stored, updated *controller) (warnings []string) {
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
func (c *parentChange) warnings(ctx context.Context, h Host, author *rights.Reviewer) (warnings []string) {
	if mayList, err := author.Allows(ctx, rights.Right{Object: rights.Object{GroupResource: c.resource}, Verb: "list"}); err != nil || !mayList {
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
	var finalized, released, kept, dropped letGoParents
	for i := range list.Items {
		parent := &list.Items[i]
		was, is := anySelects(c.before, parent), anySelects(c.after, parent)
		switch hasFinalizer := slices.Contains(parent.Finalizers, c.finalizer); {
		case is && hasFinalizer && !c.updated.finalizes:
			kept.add(parent)
		case is || !was:
		case hasFinalizer && c.updated.finalizes && len(c.after) > 0:
			finalized.add(parent)
		case hasFinalizer:
			released.add(parent)
		default:
			dropped.add(parent)
		}
	}
	more := list.Continue != ""
	selector, finalize := c.selectorPath(), field.NewPath("spec", "hooks", "finalize").String()
	keepIt, keepThem := "; to keep it, have "+selector+" match it", "; to keep them, have "+selector+" match them"
	for _, of := range []struct {
		path     string
		parents  letGoParents
		one, all string
	}{
		{selector, finalized, "stops matching: its finalize hook will be called" + keepIt, "stop matching: their finalize hook will be called" + keepThem},
		{selector, released, "stops matching: its finalizer is removed without a call of the finalize hook, and its children stay as they are" + keepIt,
			"stop matching: their finalizer is removed without a call of the finalize hook, and their children stay as they are" + keepThem},
		{selector, dropped, "stops matching: it is not synced any more, and its children stay as they are" + keepIt,
			"stop matching: they are not synced any more, and their children stay as they are" + keepThem},
		{finalize, kept, "loses its finalizer: no hook will be called when it is deleted; keep " + finalize + " until it is deleted, or set it again, which puts the finalizer back",
			"lose their finalizer: no hook will be called when they are deleted; keep " + finalize + " until they are deleted, or set it again, which puts the finalizer back"},
	} {
		if of.parents.count > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %s", of.path, of.parents.sentence(c.resource, more, of.one, of.all)))
		}
	}
	return warnings
}

func anySelects(rules []typeRule, parent *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(rules, func(rule typeRule) bool { return rule.selects(parent) })
}

// selectorPath returns the field whose change lets go of parents: the selector that changed or, if the
// type did, the field that names it.
func (c *parentChange) selectorPath() string {
	path := field.NewPath("spec", "parentResource")
	if c.stored.decorates {
		path = field.NewPath("spec", "resources")
	}
	if len(c.before) != 1 || len(c.after) != 1 {
		return path.String()
	}
	if c.stored.decorates {
		path = path.Index(slices.IndexFunc(c.updated.parents, func(rule typeRule) bool { return rule.GroupResource() == c.resource }))
	}
	labels := !apiequality.Semantic.DeepEqual(c.before[0].selector, c.after[0].selector)
	annotations := !apiequality.Semantic.DeepEqual(c.before[0].annotations, c.after[0].annotations)
	switch {
	case labels && !annotations:
		path = path.Child("labelSelector")
	case annotations && !labels:
		path = path.Child("annotationSelector")
	}
	return path.String()
}

// letGoParents are the parents that a change lets go of in one way.
type letGoParents struct {
	count int
	// names are those of the first ones.
	names []string
}

// maxNamed is how many parents a warning names.
const maxNamed = 3

func (p *letGoParents) add(parent *metav1.PartialObjectMetadata) {
	if p.count++; p.count <= maxNamed {
		p.names = append(p.names, cache.MetaObjectToName(parent).String())
	}
}

// sentence returns what becomes of the parents. There may be more of them.
func (p *letGoParents) sentence(resource schema.GroupResource, more bool, one, all string) string {
	count, noun, becomes := fmt.Sprint(p.count), "parents", all
	if p.count == 1 {
		noun, becomes = "parent", one
	}
	if more {
		count = "at least " + count
	}
	names := strings.Join(p.names, ", ")
	if more || p.count > len(p.names) {
		names += " and others"
	}
	return fmt.Sprintf("%s %s (%s %s) %s", count, noun, resource, names, becomes)
}
