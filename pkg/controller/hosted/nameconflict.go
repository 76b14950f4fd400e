// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// nameConflicts knows which parents want a child whose name another object has. They are enqueued
// when the name becomes free, and need not try again and again. Its methods may be called
// concurrently.
type nameConflicts struct {
	mu       sync.Mutex
	byParent map[object.Key][]object.Key
	wantedBy map[object.Key]map[object.Key]bool
}

func newNameConflicts() *nameConflicts {
	return &nameConflicts{
		byParent: map[object.Key][]object.Key{},
		wantedBy: map[object.Key]map[object.Key]bool{},
	}
}

// missedNames returns the names that children could not get: those that other objects have, and those
// that have become free, which the view does not show yet, or that are of the parent's own children.
func missedNames(outcomes []pipeline.Outcome) (missed []object.Key) {
	for i := range outcomes {
		if outcome := &outcomes[i]; outcome.NameConflict || outcome.Conflict && outcome.Creates() {
			missed = append(missed, outcome.Key())
		}
	}
	return missed
}

// isLeft reports whether the object that has the name of a child belongs to a former parent of the same name. The garbage
// collector of the cluster deletes that object.
func isLeft(outcome *pipeline.Outcome, parent *object.Object) bool {
	if !outcome.NameConflict || outcome.Holder == nil || parent.Namespace != "" && outcome.Holder.Namespace != parent.Namespace {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(outcome.Holder)
	return owner != nil && owner.Kind == parent.Kind && owner.APIVersion == parent.APIVersion && owner.Name == parent.Name && owner.UID != parent.UID
}

// leftError returns why a child has to wait whose name isLeft.
func leftError(outcome *pipeline.Outcome, parent *object.Object) error {
	return fmt.Errorf("%s is of a former %s, and the garbage collector of the cluster has to delete it", outcome.Key(), parent)
}

// nameConflictError returns why a sync that did not fail is not done: other objects have the names of
// children. It is nil if none do, or only those that are left of a former parent.
func nameConflictError(outcomes []pipeline.Outcome, parent *object.Object) error {
	var taken []string
	for i := range outcomes {
		if outcome := &outcomes[i]; outcome.NameConflict && !isLeft(outcome, parent) {
			taken = append(taken, outcome.Key().String()+whoseIs(outcome.Holder))
		}
	}
	slices.Sort(taken)
	switch len(taken) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s exists and is not this object's: it was left alone; delete it, or have the hook choose another name", taken[0])
	default:
		return fmt.Errorf("these exist and are not this object's: they were left alone; delete them, or have the hook choose other names: %s",
			enumerate.First(maxListed, taken))
	}
}

// whoseIs says, in brackets, whom an object belongs to that has the name of a child; holder is nil if
// it is not known.
func whoseIs(holder *object.Object) string {
	if holder == nil {
		return ""
	}
	if decorator := holder.Annotations[object.DecoratorAnnotation]; decorator != "" {
		return fmt.Sprintf(" (of DecoratorController %s)", decorator)
	}
	if owner := metav1.GetControllerOfNoCopy(holder); owner != nil {
		return fmt.Sprintf(" (of %s %s)", owner.Kind, owner.Name)
	}
	return " (of no controller)"
}

// set notes the names that children could not get in the last sync of a parent; usually none.
func (n *nameConflicts) set(parent object.Key, names []object.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range n.byParent[parent] {
		delete(n.wantedBy[name], parent)
		if len(n.wantedBy[name]) == 0 {
			delete(n.wantedBy, name)
		}
	}
	if len(names) == 0 {
		delete(n.byParent, parent)
		return
	}
	n.byParent[parent] = names
	for _, name := range names {
		if n.wantedBy[name] == nil {
			n.wantedBy[name] = map[object.Key]bool{}
		}
		n.wantedBy[name][parent] = true
	}
}

// isWanted reports whether a parent wants the name of the object.
func (n *nameConflicts) isWanted(child *object.Object) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return child != nil && len(n.wantedBy) > 0 && len(n.wantedBy[object.KeyOf(child)]) > 0
}

// parentsToRetry returns the parents that want the name of an object which is gone, or whose owners
// or labels changed so that a parent may adopt it.
func (n *nameConflicts) parentsToRetry(before, after *object.Object) []object.Key {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before == nil || len(n.wantedBy) == 0 {
		return nil
	}
	parents := n.wantedBy[object.KeyOf(before)]
	if len(parents) == 0 || after != nil && sameOwnership(before, after) {
		return nil
	}
	return slices.Collect(maps.Keys(parents))
}

// sameOwnership reports whether a change of an object leaves its labels and owners as they are.
// These decide which parent may adopt it.
func sameOwnership(before, after *object.Object) bool {
	return maps.Equal(before.Labels, after.Labels) && equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}
