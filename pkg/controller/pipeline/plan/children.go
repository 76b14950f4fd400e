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

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// children plans the writes of a parent's children.
type children struct {
	parent     *parent
	strategies Strategies
	upToDate   *UpToDateCache
	plan       *pipeline.Plan
	// strict is true if the plan refuses an answer that lists a child twice.
	strict bool
	// duplicates are the names of children that the hook lists more than once, for messages. The last entry
	// of each child counts.
	duplicates []string
	// protected are the children that must not be deleted because a refused entry may stand for them.
	protected sets.Set[kindAndName]
	// outdated are the outdated children of the type that is being planned.
	outdated outdatedChildren
}

// kindAndName identifies a child that was refused. Its group, version or namespace may be the mistake.
type kindAndName struct{ kind, name string }

// manage adds the steps that turn the observed children into the desired ones: first all deletions, then all other
// steps, in the order of the types. It adds none if the sync does not manage the children. An error refuses the entire
// answer.
func (c *children) manage(snapshot *pipeline.Snapshot, desired []*object.Object) error {
	if !snapshot.Managed {
		return nil
	}
	observed := slices.SortedFunc(slices.Values(snapshot.Children), byType)
	c.plan.Steps = slices.Grow(c.plan.Steps, len(desired)+1) // and the status
	wanted := c.groupDesired(observed, desired)
	if c.strict && len(c.duplicates) > 0 {
		return fmt.Errorf("the hook lists %s more than once: no child and no status was written; list each child once, "+
			"or set responseUnMarshallMode of the webhook to loose to use the last one", c.duplicates[0])
	}
	for _, group := range observed {
		c.deleteUnwanted(group, observed, wanted)
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

// desiredGroup has the desired children of one type. If a name is listed more than once, the last entry counts,
// at the position of the first.
type desiredGroup struct {
	inOrder []types.NamespacedName
	byName  map[types.NamespacedName]*object.Object
	// twice are the names that are listed more than once.
	twice sets.Set[types.NamespacedName]
}

// groupDesired groups the desired children by type, like the observed ones. It refuses those that cannot exist,
// and protects the observed children that they may stand for. A refused child without a name protects none.
func (c *children) groupDesired(observed []pipeline.Group, desired []*object.Object) []desiredGroup {
	wanted := make([]desiredGroup, len(observed))
	for _, child := range desired {
		i, meant, err := c.groupOf(child, observed)
		if err != nil {
			c.plan.Refused = append(c.plan.Refused, err)
			c.protect(child, meant)
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
			c.plan.Desired--
			if group.addTwice(name) {
				c.duplicates = append(c.duplicates, child.Kind+" "+strings.TrimPrefix(name.String(), "/"))
			}
		}
		group.byName[name] = child
	}
	return wanted
}

// addTwice records that a name is listed more than once. It reports whether this is the first time.
func (g *desiredGroup) addTwice(name types.NamespacedName) bool {
	if g.twice.Has(name) {
		return false
	}
	if g.twice == nil {
		g.twice = sets.New[types.NamespacedName]()
	}
	g.twice.Insert(name)
	return true
}

// maxListed is the maximum number of children that a message names.
const maxListed = 5

// duplicateWarnings returns a warning that the hook lists children more than once; none if there are no duplicates.
func duplicateWarnings(children []string) []pipeline.Warning {
	switch len(children) {
	case 0:
		return nil
	case 1:
		return []pipeline.Warning{{Reason: v1alpha1.ReasonDuplicateChild,
			Message: "the hook lists " + children[0] + " more than once, and the server uses the last one; list it once"}}
	default:
		return []pipeline.Warning{{Reason: v1alpha1.ReasonDuplicateChild,
			Message: "the hook lists children more than once, and the server uses the last one of each; list each once: " +
				text.JoinFirst(maxListed, children)}}
	}
}

// protect protects the children that a refused one may stand for: the children of its name and its kind, and of the
// kind that was probably meant, unless meant is nil.
func (c *children) protect(refused *object.Object, meant *object.Type) {
	if c.protected == nil {
		c.protected = sets.New[kindAndName]()
	}
	c.protected.Insert(kindAndName{refused.Kind, refused.Name})
	if meant != nil {
		c.protected.Insert(kindAndName{meant.Kind, refused.Name})
	}
}

// groupOf returns the index of the group of a desired child. If the controller does not declare the type of the
// child, groupOf returns the declared type that was probably meant; nil if there is none. The error says what to
// change in the hook or in the controller's spec.
func (c *children) groupOf(child *object.Object, observed []pipeline.Group) (i int, meant *object.Type, err error) {
	i = slices.IndexFunc(observed, func(group pipeline.Group) bool {
		return group.Type.Kind == child.Kind && group.Type.GroupVersion().String() == child.APIVersion
	})
	if i < 0 {
		meant = meantType(child, observed)
	}
	switch {
	case child.APIVersion == "":
		return 0, meant, fmt.Errorf("child %s %s has no apiVersion; set the one that %s declares for the kind",
			child.Kind, child.Name, c.parent.rulesField)
	case i < 0:
		return 0, meant, undeclared(child, c.parent.rulesField, meant)
	case child.Name == "":
		return 0, meant, unnamed(child)
	}
	namespaced := observed[i].Type.Namespaced
	switch {
	case c.isParent(observed[i].Type, child):
		return 0, meant, fmt.Errorf("child %s is the parent itself, which cannot be its own child; "+
			"give it another name, or leave it out", child)
	case c.parent.Namespace != "" && !namespaced:
		return 0, meant, fmt.Errorf("child %s is cluster-scoped and cannot belong to the namespaced parent %s; "+
			"make the parent's type cluster-scoped, or leave the child out",
			child, c.parent)
	case c.parent.Namespace != "" && c.parent.namespaceOf(child) != c.parent.Namespace:
		return 0, meant, fmt.Errorf("child %s is not in the namespace of its parent %s and cannot belong to it; "+
			"leave out metadata.namespace",
			child, c.parent)
	case namespaced && c.parent.namespaceOf(child) == "":
		return 0, meant, fmt.Errorf("child %s has no metadata.namespace, and its parent %s has none either; "+
			"set metadata.namespace",
			child, c.parent)
	}
	return i, nil, nil
}

// unnamed returns the error for a desired child without a name.
func unnamed(child *object.Object) error {
	remedy := "set it, to the same name in every answer"
	if child.GenerateName != "" {
		remedy = "a child must have the same name in every answer, so generateName cannot replace metadata.name"
	}
	return fmt.Errorf("child %s of apiVersion %s has no metadata.name; %s", child.Kind, child.APIVersion, remedy)
}

// meantType returns the declared type that the kind and the apiVersion of a desired child probably stand for; nil if
// there is none. Of several types of the kind, it is the one with the nearest apiVersion.
func meantType(child *object.Object, declared []pipeline.Group) *object.Type {
	var kinds []string
	for i := range declared {
		kinds = append(kinds, declared[i].Type.Kind)
	}
	kind := nearest.To(child.Kind, kinds)
	var first *object.Type
	var versions []string
	byVersion := map[string]*object.Type{}
	for i := range declared {
		if of := &declared[i].Type; strings.EqualFold(of.Kind, kind) {
			if first == nil {
				first = of
			}
			version := of.GroupVersion().String()
			versions = append(versions, version)
			byVersion[version] = of
		}
	}
	if nearby := byVersion[nearest.To(child.APIVersion, versions)]; nearby != nil {
		return nearby
	}
	return first
}

// undeclared returns the error for a desired child of a type that the controller does not declare.
func undeclared(child *object.Object, rulesField string, meant *object.Type) error {
	remedy := "declare it, or leave the child out"
	if meant != nil {
		remedy = fmt.Sprintf("did you mean %s %s? If not, %s", meant.GroupVersion(), meant.Kind, remedy)
	}
	return fmt.Errorf("child %s: %s declares no kind %q in apiVersion %q; %s",
		child, rulesField, child.Kind, child.APIVersion, remedy)
}

// isParent reports whether a desired child of that type is the parent.
func (c *children) isParent(of object.Type, child *object.Object) bool {
	parent := c.parent
	return of.GroupKind() == parent.parentType.GroupKind() && child.Name == parent.Name &&
		(!of.Namespaced || parent.namespaceOf(child) == parent.Namespace)
}

// deleteUnwanted deletes the children of one type that the hook does not list, except for those that the
// controller did not create and the hook has never listed. It also keeps those that a refused entry may stand
// for: a mistake in an answer must not delete a child. A child that the hook lists in another version of its
// type is the same object.
func (c *children) deleteUnwanted(group pipeline.Group, observed []pipeline.Group, wanted []desiredGroup) {
	orphans := orphansOf(group)
	isWanted := func(child *object.Object) bool {
		for i := range observed {
			if observed[i].Type.GroupKind() == group.Type.GroupKind() && wanted[i].byName[child.Key()] != nil {
				return true
			}
		}
		return false
	}
	var kept keptChildren
	for _, child := range group.Claimed {
		if isWanted(child) || child.DeletionTimestamp != nil || orphans.Has(child) ||
			c.protected.Has(kindAndName{group.Type.Kind, child.Name}) {
			continue
		}
		if !isKnown(child, c.parent.UID) {
			kept.add(group.Type, child)
			continue
		}
		c.add(pipeline.Step{Op: pipeline.Delete, Type: group.Type, Observed: child, Why: "the hook does not list it"})
	}
	for _, child := range group.Kept {
		if !isWanted(child) && !orphans.Has(child) {
			kept.add(group.Type, child)
		}
	}
	if kept.number > 0 {
		c.parent.kept = append(c.parent.kept, kept.warning())
	}
}

// apply adds the steps that bring the children of one type into their desired state.
func (c *children) apply(group pipeline.Group, wanted desiredGroup) {
	observed := make(map[types.NamespacedName]*object.Object, len(group.Claimed))
	for _, child := range group.Claimed {
		observed[child.Key()] = child
	}
	for _, child := range group.Kept {
		observed[child.Key()] = child
	}
	strategy := c.strategies[group.Type.GroupKind()]
	engine := c.parent.engine(strategy.Engine, group.Schema)
	orphans := orphansOf(group)
	c.outdated = outdatedChildren{}
	for _, name := range wanted.inOrder {
		desired := wanted.byName[name]
		c.warnOfChild(group, strategy, observed[name], desired)
		step, err := c.step(engine, strategy.Method, orphans, observed[name], desired)
		if err != nil {
			c.plan.Refused = append(c.plan.Refused, err)
			continue
		}
		step.Type, step.Schema = group.Type, group.Schema
		step.Rolls = strategy.Rolls
		step.Namespace, step.Name = name.Namespace, name.Name
		c.add(step)
	}
	c.warnOfOutdated(group, strategy)
}

// step returns the step for one desired child. It decides whether the child may be written at all; the update method
// and the engine decide about the content of the write.
func (c *children) step(
	engine engine, method Method, orphans sets.Set[*object.Object], observed, desired *object.Object,
) (step pipeline.Step, err error) {
	// These children are not written otherwise: a rollout leaves them as they are, or their update method does.
	marks := observed == desired || method.leavesAlone() && observed != nil && !c.upToDate.isOutdated(observed, desired)
	switch {
	case observed == nil:
		step, err = engine.create(desired)
	case observed.DeletionTimestamp != nil:
		step = keep(observed, "it is being deleted")
	case orphans.Has(observed):
		step = keep(observed, "it is adopted first")
	case c.upToDate.Is(observed.UID, desired.Hash, observed.Hash):
		step = keep(observed, whyUpToDate)
	case marks && !isKnown(observed, c.parent.UID):
		return engine.markListed(observed) // the result is not what is desired
	default:
		if method.leavesAlone() {
			c.findOutdated(engine, observed, desired)
		}
		step, err = updateChild(method, engine, c.upToDate, observed, desired)
	}
	step.Desired = desired.Hash
	return step, err
}

func (c *children) add(step pipeline.Step) {
	if step.Observed != nil {
		step.Namespace, step.Name = step.Observed.Namespace, step.Observed.Name
	}
	c.plan.Steps = append(c.plan.Steps, step)
}

// orphansOf returns the orphans of a group that the parent adopts; nil if there are none.
func orphansOf(group pipeline.Group) sets.Set[*object.Object] {
	if len(group.Adopt) == 0 {
		return nil
	}
	return sets.New(group.Adopt...)
}
