// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// children plans what becomes of a parent's children.
type children struct {
	parent     *parent
	strategies Strategies
	upToDate   *UpToDateCache
	plan       *pipeline.Plan
	// strict is true if an answer that lists a child twice is refused.
	strict bool
	// duplicates are the Duplicates of the plan as a set.
	duplicates sets.Set[string]
	// protected are the children that are not deleted, since they may be refused ones.
	protected sets.Set[kindAndName]
}

// kindAndName is what a child is told by that is refused: its group, version or namespace may be the
// mistake.
type kindAndName struct{ kind, name string }

// manage adds the steps that turn the observed children into the desired ones: first all deletions,
// then all other steps, each type by type in the order of their names. It adds none if the sync
// leaves the children alone. An error refuses the whole answer.
func (c *children) manage(snapshot *pipeline.Snapshot, desired []*object.Object) error {
	if !snapshot.Managed {
		return nil
	}
	observed := slices.SortedFunc(slices.Values(snapshot.Children), byType)
	c.plan.Steps = slices.Grow(c.plan.Steps, len(desired)+1) // and the status
	wanted := c.groupDesired(observed, desired)
	if twice := c.plan.Duplicates; c.strict && len(twice) > 0 {
		c.plan.Duplicates = nil // the answer is refused, so none of them counts
		return fmt.Errorf("the hook lists %s more than once: no child and no status was written; "+
			"list each child once, or set responseUnMarshallMode to loose, which makes the last one count", twice[0])
	}
	for i, group := range observed {
		c.deleteUnwanted(group, wanted[i])
	}
	for i, group := range observed {
		c.apply(group, wanted[i])
	}
	return nil
}

func byType(a, b pipeline.Group) int {
	return cmp.Or(
		cmp.Compare(a.Type.Group, b.Type.Group),
		cmp.Compare(a.Type.Version, b.Type.Version),
		cmp.Compare(a.Type.Kind, b.Type.Kind),
	)
}

// desiredGroup are the desired children of one type. The last one of each name counts, at the
// position of the first.
type desiredGroup struct {
	inOrder []types.NamespacedName
	byName  map[types.NamespacedName]*object.Object
}

// groupDesired groups the desired children like the observed ones, by type. It refuses those that
// cannot be made, and protects the children that these may be. One that is refused because it has no
// name protects nothing, since every child has a name.
func (c *children) groupDesired(observed []pipeline.Group, desired []*object.Object) []desiredGroup {
	wanted := make([]desiredGroup, len(observed))
	for _, child := range desired {
		i, err := c.groupOf(child, observed)
		if err != nil {
			c.plan.Refused = append(c.plan.Refused, err)
			c.protect(child)
			continue
		}
		name := types.NamespacedName{Name: child.Name}
		if observed[i].Type.Namespaced {
			name.Namespace = c.parent.namespaceOf(child)
		}
		group := &wanted[i]
		if group.byName == nil {
			group.byName = make(map[types.NamespacedName]*object.Object, len(desired))
			group.inOrder = make([]types.NamespacedName, 0, len(desired))
		}
		if _, twice := group.byName[name]; !twice {
			group.inOrder = append(group.inOrder, name)
		} else {
			c.addDuplicate(child.Kind + " " + strings.TrimPrefix(name.String(), "/"))
		}
		group.byName[name] = child
	}
	return wanted
}

// protect protects the children that a refused one may be.
func (c *children) protect(refused *object.Object) {
	if c.protected == nil {
		c.protected = sets.New[kindAndName]()
	}
	c.protected.Insert(kindAndName{refused.Kind, refused.Name})
}

// addDuplicate adds a child that is listed more than once to the plan, if it is not there yet.
func (c *children) addDuplicate(child string) {
	if c.duplicates == nil {
		c.duplicates = sets.New[string]()
	}
	if !c.duplicates.Has(child) {
		c.duplicates.Insert(child)
		c.plan.Duplicates = append(c.plan.Duplicates, child)
	}
}

// groupOf returns the index of the group that a desired child belongs to. The error says what to
// change in the hook or in the controller's spec.
func (c *children) groupOf(child *object.Object, observed []pipeline.Group) (int, error) {
	i := slices.IndexFunc(observed, func(group pipeline.Group) bool {
		return group.Type.Kind == child.Kind && group.Type.GroupVersion().String() == child.APIVersion
	})
	switch {
	case child.APIVersion == "":
		return 0, fmt.Errorf("child %s %s has no apiVersion; name the one that %s declares for the kind", child.Kind, child.Name, c.parent.rulesField)
	case i < 0:
		return 0, fmt.Errorf("child %s: %s declares no kind %q in apiVersion %q; declare it, or leave the child out",
			child, c.parent.rulesField, child.Kind, child.APIVersion)
	case child.Name == "":
		return 0, fmt.Errorf("child %s of apiVersion %s has no metadata.name; a child must have the same name in every answer, so generateName cannot stand for it",
			child.Kind, child.APIVersion)
	}
	namespaced := observed[i].Type.Namespaced
	switch {
	case c.parent.Namespace != "" && !namespaced:
		return 0, fmt.Errorf("child %s is cluster-scoped and cannot belong to the namespaced parent %s; make the parent's type cluster-scoped, or leave the child out",
			child, c.parent)
	case c.parent.Namespace != "" && c.parent.namespaceOf(child) != c.parent.Namespace:
		return 0, fmt.Errorf("child %s is in another namespace than its parent %s and cannot belong to it; leave out metadata.namespace",
			child, c.parent)
	case namespaced && c.parent.namespaceOf(child) == "":
		return 0, fmt.Errorf("child %s has no metadata.namespace, and neither has its parent %s; name the namespace it is to be in",
			child, c.parent)
	}
	return i, nil
}

// deleteUnwanted deletes the children of one type that are not desired. A child that seems to be
// unwanted may be one that was refused for a mistake, which must not cost the child.
func (c *children) deleteUnwanted(group pipeline.Group, wanted desiredGroup) {
	orphans := orphansOf(group)
	for _, child := range group.Claimed {
		if wanted.byName[child.Key()] != nil || child.DeletionTimestamp != nil || orphans.Has(child) ||
			c.protected.Has(kindAndName{group.Type.Kind, child.Name}) {
			continue
		}
		c.add(pipeline.Step{Op: pipeline.Delete, Type: group.Type, Observed: child, Why: "the hook does not list it"})
	}
}

// apply makes the children of one type what is desired.
func (c *children) apply(group pipeline.Group, wanted desiredGroup) {
	observed := make(map[types.NamespacedName]*object.Object, len(group.Claimed))
	for _, child := range group.Claimed {
		observed[child.Key()] = child
	}
	strategy := c.strategies[group.Type.GroupKind()]
	engine := c.parent.engine(strategy.Engine, group.Schema)
	orphans := orphansOf(group)
	for _, name := range wanted.inOrder {
		desired := wanted.byName[name]
		c.warnOfChild(group, observed[name], desired)
		step, err := c.step(engine, strategy.Method, orphans, observed[name], desired)
		if err != nil {
			c.plan.Refused = append(c.plan.Refused, err)
			continue
		}
		step.Type, step.Desired = group.Type, desired.Hash
		step.Namespace, step.Name = name.Namespace, name.Name
		c.add(step)
	}
}

// step returns the step for one desired child. It decides whether the child may be written at all;
// what is written is decided by its update method and engine.
func (c *children) step(engine engine, method Method, orphans sets.Set[*object.Object], observed, desired *object.Object) (pipeline.Step, error) {
	switch {
	case observed == nil:
		return engine.create(desired)
	case observed.DeletionTimestamp != nil:
		return keep(observed, "it is being deleted"), nil
	case orphans.Has(observed):
		return keep(observed, "it is adopted first"), nil
	case c.upToDate.Is(observed.UID, desired.Hash, observed.Hash):
		return keep(observed, whyUpToDate), nil
	}
	if method != Recreate && method != InPlace {
		c.countOutdated(engine, observed, desired)
	}
	return updateChild(method, engine, c.upToDate, observed, desired)
}

func (c *children) add(step pipeline.Step) {
	if step.Observed != nil {
		step.Namespace, step.Name = step.Observed.Namespace, step.Observed.Name
	}
	c.plan.Steps = append(c.plan.Steps, step)
}

// orphansOf returns the children of a group that have no controller yet; nil if there are none.
func orphansOf(group pipeline.Group) sets.Set[*object.Object] {
	if len(group.Adopt) == 0 {
		return nil
	}
	return sets.New(group.Adopt...)
}
