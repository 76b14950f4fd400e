// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

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

// conflictingNames returns the names that children could not get (missed), and which of them other
// objects have. The remaining names have become free, which the view does not show yet, or are names
// of the parent's own children.
func conflictingNames(outcomes []pipeline.Outcome) (missed, conflicting []object.Key) {
	for i := range outcomes {
		outcome := &outcomes[i]
		if outcome.NameConflict || outcome.Conflict && outcome.Creates() {
			missed = append(missed, outcome.Key())
		}
		if outcome.NameConflict {
			conflicting = append(conflicting, outcome.Key())
		}
	}
	return missed, conflicting
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

// keyNames returns the objects as messages name them, sorted.
func keyNames(keys []object.Key) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	slices.Sort(names)
	return names
}
