// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A parent may control objects that its controller did not create: those that it adopted, and those that other
// controllers created with the parent as their owner, such as the Pods of a Job that is a parent. The plan does not
// delete them unless the hook has listed them once. A child that the controller has created or changed shows this in
// the record of dynamic apply, or in fields that server-side apply owns. An adoption changes only the owners.

// isKnown reports whether the controller has created a child of the parent, or its hook has listed it once. Fields that
// another controller applied do not count: an apply of this controller includes the reference to the parent. Adoption
// removes the record of dynamic apply from an orphan that the hook does not list.
func isKnown(child *object.Object, parent types.UID) bool {
	if child.Applied != nil && bytes.Contains(child.Applied, []byte(parent)) {
		return true
	}
	text, _ := child.Annotation(object.LastAppliedAnnotation)
	return isRecordOf(child, text)
}

// Deletable returns the observed children that would be deleted if the hook listed none.
func Deletable(snapshot *pipeline.Snapshot) (children []*object.Object) {
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp == nil && isKnown(child, snapshot.Parent.UID) {
				children = append(children, child)
			}
		}
	}
	return children
}

// isRecordOf reports whether the text of LastAppliedAnnotation is about the child. Users and controllers copy
// annotations between objects, for example from Deployments to ReplicaSets.
func isRecordOf(child *object.Object, text string) bool {
	var record struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil || isEmptyRecord(text) {
		return false
	}
	isSame := func(recorded, value string) bool {
		return recorded == "" || recorded == value || recorded == digestOf(value)
	}
	return isSame(record.Kind, child.Kind) && isSame(record.Metadata.Name, child.Name) &&
		isSame(record.Metadata.Namespace, child.Namespace)
}

// HideKept hides from a finalize hook the children that the plan does not delete because the hook has never listed
// them. A hook that waits until all children are gone would never finish.
func HideKept(snapshot *pipeline.Snapshot) {
	if !snapshot.Finalizing || !snapshot.Managed {
		return
	}
	for i := range snapshot.Children {
		group := &snapshot.Children[i]
		group.Claimed = slices.DeleteFunc(group.Claimed, func(child *object.Object) bool {
			isKept := child.DeletionTimestamp == nil && !isKnown(child, snapshot.Parent.UID)
			if isKept {
				group.Kept = append(group.Kept, child)
			}
			return isKept
		})
	}
}

// keptChildren counts the children of one type that the plan does not delete because the hook has never listed them.
type keptChildren struct {
	objects warnedObjects
	number  int
}

func (k *keptChildren) add(of object.Type, child *object.Object) {
	if k.number++; k.number == 1 {
		k.objects = newWarnedObjects(object.Key{GroupKind: of.GroupKind(), NamespacedName: child.Key()})
		return
	}
	k.objects.more++
}

// warning says which children are kept, and how to delete or release them.
func (k *keptChildren) warning() pipeline.Warning {
	return pipeline.Warning{Reason: v1alpha1.ReasonChildKept, About: k.objects.kind.String(), Message: fmt.Sprintf(
		"%s: the parent controls it but the hook has never listed it, so it may belong to others and the server keeps "+
			"it; to delete it, list it in an answer and leave it out afterwards; to release it, "+
			"change its labels so that the parent's selector does not match them", k.objects)}
}

// outdatedPair has the hashes of a child that differs from its desired state, and the first field that differs.
type outdatedPair struct {
	hashPair
	path string
}

// outdatedChildren counts the children of one type that OnDelete leaves alone although they differ from their desired
// state.
type outdatedChildren struct {
	number int
	// first is the first of them, and path the first field in which it differs.
	first types.NamespacedName
	path  string
}

func (o *outdatedChildren) add(child *object.Object, path string) {
	if o.number == 0 {
		o.first, o.path = child.Key(), path
	}
	o.number++
}

// outdatedWarning is a warning about outdated children. It stays valid while these and the strategy stay the same.
// It is in a slice so that a plan can use it without an allocation.
type outdatedWarning struct {
	of       outdatedChildren
	strategy Strategy
	warning  []pipeline.Warning
}

// findOutdated counts a child that OnDelete leaves alone as outdated if it differs from its desired state.
func (c *children) findOutdated(engine engine, observed, desired *object.Object) {
	if c.upToDate.isOutdated(observed, desired) {
		c.outdated.add(observed, c.upToDate.outdated[observed.UID].path)
		return
	}
	switch step, err := engine.change(OnDelete, observed, desired); {
	case err != nil:
	case step.Op == pipeline.Recreate:
		c.outdated.add(observed, step.Path)
		c.upToDate.putOutdated(observed.UID, outdatedPair{hashPair{desired.Hash, observed.Hash}, step.Path})
	default:
		c.upToDate.Put(observed.UID, desired.Hash, observed.Hash)
	}
}

// warnOfOutdated adds the outdated children of a type to the plan's count, and one warning about them.
func (c *children) warnOfOutdated(group pipeline.Group, strategy Strategy) {
	if c.outdated.number == 0 {
		return
	}
	c.plan.Outdated += c.outdated.number
	kind := group.Type.GroupKind()
	cached := c.upToDate.outdatedWarnings[kind]
	if cached == nil || cached.of != c.outdated || cached.strategy != strategy {
		cached = &outdatedWarning{c.outdated, strategy, []pipeline.Warning{c.outdated.warning(group.Type, strategy)}}
		c.upToDate.putOutdatedWarning(kind, cached)
	}
	if c.parent.outdated == nil {
		c.parent.outdated = cached.warning[:1:1]
		return
	}
	c.parent.outdated = append(c.parent.outdated, cached.warning...)
}

// warning says which children are outdated, and which change of the spec would update them.
func (o *outdatedChildren) warning(of object.Type, strategy Strategy) pipeline.Warning {
	kind := of.GroupKind()
	objects := newWarnedObjects(object.Key{GroupKind: kind, NamespacedName: o.first})
	objects.more = o.number - 1
	warning := pipeline.Warning{Reason: v1alpha1.ReasonChildOutdated, About: kind.String() + " " + o.path}
	const left = "%s: it differs from the desired state, first at %s, and the server does not update it, because %s is "
	if strategy.Method == OnDelete {
		warning.Chosen = true
		warning.Message = fmt.Sprintf(left+"OnDelete: the server creates it again when you delete it",
			objects, o.path, strategy.Field)
	} else {
		warning.Message = fmt.Sprintf(
			left+"not set: set it to InPlace or Recreate, or to OnDelete if the child should stay as it is",
			objects, o.path, strategy.Field)
	}
	return warning
}
