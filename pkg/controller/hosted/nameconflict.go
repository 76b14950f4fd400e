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

// nameConflicts knows which parents want a child whose name somebody else has, so that
// they need not try again and again to learn that it has become free.
type nameConflicts struct {
	mu       sync.Mutex
	byParent map[pipeline.Key][]pipeline.Key
	wantedBy map[pipeline.Key]map[pipeline.Key]bool
}

func newNameConflicts() *nameConflicts {
	return &nameConflicts{
		byParent: map[pipeline.Key][]pipeline.Key{},
		wantedBy: map[pipeline.Key]map[pipeline.Key]bool{},
	}
}

// conflictingNames are the names that children could not get, and those of them that somebody else has.
// The others have become free since, of which the watch is yet to tell, or are the parent's own.
func conflictingNames(outcomes []pipeline.Outcome) (missed, taken []pipeline.Key) {
	for i := range outcomes {
		outcome := &outcomes[i]
		if outcome.NameConflict || outcome.Conflict && outcome.Creates() {
			missed = append(missed, outcome.Key())
		}
		if outcome.NameConflict {
			taken = append(taken, outcome.Key())
		}
	}
	return missed, taken
}

// set notes which names the children of a parent's last sync could not get; often there are none.
func (t *nameConflicts) set(parent pipeline.Key, names []pipeline.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range t.byParent[parent] {
		delete(t.wantedBy[name], parent)
		if len(t.wantedBy[name]) == 0 {
			delete(t.wantedBy, name)
		}
	}
	if len(names) == 0 {
		delete(t.byParent, parent)
		return
	}
	t.byParent[parent] = names
	for _, name := range names {
		if t.wantedBy[name] == nil {
			t.wantedBy[name] = map[pipeline.Key]bool{}
		}
		t.wantedBy[name][parent] = true
	}
}

// isWanted tells whether there are parents that want the name of an object.
func (t *nameConflicts) isWanted(object *object.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return object != nil && len(t.wantedBy) > 0 && len(t.wantedBy[pipeline.KeyOf(object)]) > 0
}

// parentsToRetry returns the parents that want the name of an object which is gone, or which
// may have become theirs to have.
func (t *nameConflicts) parentsToRetry(before, after *object.Object) []pipeline.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before == nil || len(t.wantedBy) == 0 {
		return nil
	}
	parents := t.wantedBy[pipeline.KeyOf(before)]
	if len(parents) == 0 || after != nil && sameOwnership(before, after) {
		return nil
	}
	return slices.Collect(maps.Keys(parents))
}

// sameOwnership tells whether a change of an object does not concern those who want its name.
func sameOwnership(before, after *object.Object) bool {
	return maps.Equal(before.Labels, after.Labels) && equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}
