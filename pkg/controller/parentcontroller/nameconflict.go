// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// nameConflicts knows which parents want a child whose name another object has. They are enqueued
// when the name becomes free, so they need not try again and again. Its methods may be called
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

// missedNames returns the names that children could not get: names that other objects have, names that have become free
// although the view does not show it yet, and names of the parent's own children.
func missedNames(outcomes []pipeline.Outcome) (missed []object.Key) {
	for i := range outcomes {
		if outcome := &outcomes[i]; outcome.NameConflict || outcome.Conflict && outcome.Creates() {
			missed = append(missed, outcome.Key())
		}
	}
	return missed
}

// isLeft reports whether the object that has the name of a child belongs to a former parent of the same name. The
// garbage collector of the cluster deletes such an object.
func isLeft(outcome *pipeline.Outcome, parent *object.Object) bool {
	if !outcome.NameConflict || outcome.Holder == nil {
		return false
	}
	if parent.Namespace != "" && outcome.Holder.Namespace != parent.Namespace {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(outcome.Holder)
	if owner == nil || owner.Kind != parent.Kind || owner.Name != parent.Name || owner.UID == parent.UID {
		return false
	}
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == parent.GroupVersionKind().Group
}

// leftError returns the error about a child whose name an object of a former parent has.
func leftError(outcome *pipeline.Outcome, parent *object.Object) error {
	return fmt.Errorf("%s belongs to a deleted %s, and the garbage collector has not deleted it yet", outcome.Key(),
		parent)
}

// nameConflictError returns why a parent is not as its hook wants although its sync did not fail: other objects have
// the names of children. It is nil if none do, or only objects of a former parent. It never advises to delete them:
// they may hold the only copy of a user's data.
func nameConflictError(outcomes []pipeline.Outcome, snapshot *pipeline.Snapshot) error {
	claimant := object.Claimant{
		Parent: snapshot.Parent, Selector: snapshot.Selector,
		Decorator: snapshot.GeneratedAnnotations[object.DecoratorAnnotation],
	}
	var taken []string
	var handovers []takeover
	for i := range outcomes {
		outcome := &outcomes[i]
		if !outcome.NameConflict || isLeft(outcome, snapshot.Parent) {
			continue
		}
		said := outcome.Key().String()
		if holder := outcome.Holder; holder != nil {
			said += " (" + claimant.Whose(holder) + ")"
			if change := claimant.Handover(holder); change != nil {
				handovers = append(handovers, takeover{outcome.Type, outcome.Key(), change, object.IsMarked(holder)})
			}
		}
		taken = append(taken, said)
	}
	if len(taken) == 0 {
		return nil
	}
	slices.Sort(taken)
	what := taken[0] + " exists and is not this object's child, so the server did not change it; "
	adopt, other := "to make it a child, run %s; otherwise ", "make the hook choose another name"
	if len(taken) > 1 {
		what = "these objects exist and are not this object's children, so the server did not change them: " +
			text.JoinFirst(status.MaxListed, taken) + "; "
		adopt, other = "to make them children, run %s; otherwise ", "make the hook choose other names"
	}
	if len(handovers) > 0 {
		what += fmt.Sprintf(adopt, howToTakeOver(handovers, snapshot))
	}
	return errors.New(what + other)
}

// takeover is the change by which an object that has the name of a child becomes that child.
type takeover struct {
	of     object.Type
	holder object.Key
	change *object.Handover
	// isMarked is false if nothing in the object says that a controller made it.
	isMarked bool
}

// maxCommands bounds the bytes of the commands in a message. An event has room for 1,024.
const maxCommands = 400

// howToTakeOver returns the commands by which objects become children. If they are long, or if kubectl has no command
// for the change, it returns the command of the plugin, which changes all of them.
func howToTakeOver(all []takeover, snapshot *pipeline.Snapshot) string {
	parent := snapshot.Parent
	plugin := "kubectl metacontroller adopt "
	if parent.Namespace != "" {
		plugin += "-n " + parent.Namespace + " "
	}
	plugin += object.Argument(snapshot.ParentType.GroupResource(), parent.Name)
	if slices.ContainsFunc(all, func(one takeover) bool { return !one.isMarked }) {
		plugin += " --unmarked"
	}
	slices.SortFunc(all, func(a, b takeover) int { return cmp.Compare(a.holder.String(), b.holder.String()) })
	var commands []string
	for len(all) > 0 {
		first, alike := all[0], []string{}
		all = slices.DeleteFunc(all, func(one takeover) bool {
			is := one.holder.Namespace == first.holder.Namespace && reflect.DeepEqual(one.change, first.change)
			if is {
				alike = append(alike, object.Argument(one.of.GroupResource(), one.holder.Name))
			}
			return is
		})
		of := first.change.Commands(first.holder.Namespace, alike...)
		if len(of) == 0 {
			return plugin
		}
		commands = append(commands, of...)
	}
	text := strings.Join(commands, " && ")
	if len(text) > maxCommands {
		return plugin
	}
	return text + " (" + plugin + " does this for all children)"
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
	return maps.Equal(before.Labels, after.Labels) &&
		equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}
