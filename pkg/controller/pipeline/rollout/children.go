// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// children has the children of rolling kinds that the latest revision wants, and the revision of each.
type children struct {
	*Rollout
	// inOrder has the children in the order of the latest answer.
	inOrder []*child
	// ofKind counts the children of each kind.
	ofKind   map[schema.GroupKind]int
	upToDate UpToDate
	now      time.Time
	// completions has what was found about children in motion. observedKinds has the kinds with a child that a
	// controller has observed.
	completions   map[types.UID]completion
	observedKinds map[schema.GroupKind]bool
	// recheck is the time after which a child that no controller has observed may count as completed; zero if there
	// is no such child.
	recheck time.Duration
}

// child is a child of a rolling kind.
type child struct {
	object.Key
	kind *Kind
	// index is the position of the child in the latest answer, among the children of its kind.
	index int
	// observed is the existing child; nil if it is missing.
	observed *object.Object
	// isAdopted is true if the child has no controller yet.
	isAdopted bool
	// desired is the child that each revision wants, by the index of the revision; nil if a revision does not list
	// the child.
	desired []*object.Object
	// at is the index of the revision that the child is at: zero is the latest, and unknown is none of them.
	at int
	// motion is the reason why the child is in motion, once that is known; empty if it is not in motion.
	motion string
	// failed is the status check that is the reason; nil if there is another reason.
	failed *failedCheck
}

// unknown is where a child is that no revision claims and that differs from what the latest wants. It stays as it is
// until its turn comes.
const unknown = -1

// wanted returns the desired state of the child at its revision.
func (c *child) wanted() *object.Object {
	if c.at == unknown {
		return c.observed
	}
	return c.desired[c.at]
}

// children reads the answers. If an answer lists a child twice, the last entry counts, in the
// position of the first.
func (r *Rollout) children(responses []*pipeline.Response, upToDate UpToDate, now time.Time) *children {
	c := &children{Rollout: r, ofKind: map[schema.GroupKind]int{}, upToDate: upToDate, now: now}
	observed, adopted := r.observedChildren()
	byKey := map[object.Key]*child{}
	for i, response := range responses {
		for _, desired := range response.Children {
			key, kind := r.identify(desired)
			if kind == nil {
				continue
			}
			if i == 0 && byKey[key] == nil {
				byKey[key] = &child{
					Key: key, kind: kind, index: c.ofKind[key.GroupKind],
					observed: observed[key], isAdopted: adopted[key], desired: make([]*object.Object, len(responses)),
				}
				c.inOrder = append(c.inOrder, byKey[key])
				c.ofKind[key.GroupKind]++
			}
			if child := byKey[key]; child != nil {
				child.desired[i] = desired
			}
		}
	}
	return c
}

// identify returns the key and the rolling kind of a desired child. The kind is nil if it does not roll, or if
// the object cannot be a child of the parent; the plan refuses such an object.
func (r *Rollout) identify(desired *object.Object) (object.Key, *Kind) {
	kind := r.rules.kind(desired.GroupVersionKind())
	if kind == nil || desired.Name == "" {
		return object.Key{}, nil
	}
	parent := r.snapshot.Parent
	key := object.Key{GroupKind: kind.GroupKind(), NamespacedName: types.NamespacedName{Name: desired.Name}}
	if kind.Namespaced {
		key.Namespace = cmp.Or(desired.Namespace, parent.Namespace)
	}
	if kind.Namespaced != (key.Namespace != "") || parent.Namespace != "" && key.Namespace != parent.Namespace {
		return object.Key{}, nil
	}
	return key, kind
}

// observedChildren returns the children of rolling kinds in the snapshot, and which of them have no controller yet.
func (r *Rollout) observedChildren() (observed map[object.Key]*object.Object, adopted map[object.Key]bool) {
	observed, adopted = map[object.Key]*object.Object{}, map[object.Key]bool{}
	for _, group := range r.snapshot.Children {
		if r.rules.kind(group.Type.GroupVersionKind()) == nil {
			continue
		}
		for _, children := range [...][]*object.Object{group.Claimed, group.Kept} {
			for _, child := range children {
				observed[object.KeyOf(child)] = child
			}
		}
		for _, child := range group.Adopt {
			if metav1.GetControllerOfNoCopy(child) == nil {
				adopted[object.KeyOf(child)] = true
			}
		}
	}
	return observed, adopted
}

// assign finds the revision of each child: the one that claims it. A child that no revision claims is at the
// latest revision if it is missing or already matches it. Otherwise its revision is unknown, for example because the
// revisions were lost. A child of a parent that is being deleted does not wait for its turn then. The claim of the
// latest revision on a child that is adopted does not count: it was made while the child was missing or was not the
// parent's.
//
// A child that already matches the latest revision is at the latest. assign ignores claims on children of kinds that no
// longer roll, on children that the latest revision does not want, and on children that the claiming revision itself no
// longer wants: its answer has no desired state of the child.
func (c *children) assign() error {
	claims, earlier := c.claims(0), c.claims(1)
	for _, child := range c.inOrder {
		at, claimed := claims[child.Key]
		if at == 0 && child.isAdopted {
			at, claimed = earlier[child.Key]
		}
		if !claimed && child.observed != nil && c.snapshot.Parent.DeletionTimestamp == nil {
			at = unknown
		}
		if at == 0 || at > 0 && child.desired[at] == nil {
			continue
		}
		child.at = at
		if child.observed == nil {
			continue
		}
		asLatest, err := c.upToDate(child.observed, child.desired[0])
		if err != nil {
			return err
		}
		if asLatest {
			child.at = 0
		}
	}
	return nil
}

// claims returns the index of the revision that claims each child. If several revisions claim a child, the
// latest revision wins, then the newer one. It leaves out the revisions before first.
func (c *children) claims(first int) map[object.Key]int {
	claims := map[object.Key]int{}
	for i, revision := range c.Revisions[first:] {
		for _, stored := range revision.stored {
			for key := range stored.ChildKeys(c.snapshot.Parent) {
				if _, claimed := claims[key]; !claimed {
					claims[key] = first + i
				}
			}
		}
	}
	return claims
}

// advance moves as many children to the latest revision as may move now, and returns them. It also returns the
// condition and, if children in motion keep others from moving, the child that the rollout waits for.
func (c *children) advance() (condition metav1.Condition, moved []*child, waitsFor *child, err error) {
	var behind, heldBack []*child
	for _, child := range c.inOrder {
		switch {
		case child.at == 0:
		case child.isBeforePartition():
			heldBack = append(heldBack, child)
		default:
			behind = append(behind, child)
		}
	}
	if len(behind) == 0 && len(heldBack) == 0 {
		condition, waitsFor, err = c.finish()
		return condition, nil, waitsFor, err
	}
	motion, err := c.countMotion()
	if err != nil {
		return metav1.Condition{}, nil, nil, err
	}
	if len(behind) == 0 {
		message := fmt.Sprintf("partition %d holds back %s", heldBack[0].kind.Partition, c.list(heldBack))
		if motion.latest == 0 {
			return updated(rolloutWaiting, message), nil, nil, nil
		}
		waitsFor = motion.waitsFor()
		return updated(rolloutWaiting, message+"; "+waitsFor.motion), nil, waitsFor, nil
	}
	for i := motion.next(behind); i >= 0; i = motion.next(behind) {
		motion.move(behind[i])
		moved = append(moved, behind[i])
		behind = slices.Delete(behind, i, i+1)
	}
	if len(moved) > 0 {
		return updated(rolloutProgressing, "updating "+c.list(moved)), moved, nil, nil
	}
	waitsFor = motion.waitsFor()
	return updated(rolloutWaiting, waitsFor.motion+waitsFor.whyHeldBack()), nil, waitsFor, nil
}

// finish returns the condition when all children are at the latest revision. The rollout has finished once they are
// also healthy; until then finish also returns the child that the rollout waits for. Once the rollout has finished, the
// health of the children does not change the condition.
func (c *children) finish() (metav1.Condition, *child, error) {
	over := updated(onLatestRevision, "latest ControllerRevision: "+c.Revisions[0].Name)
	if !c.inProgress() {
		c.cache.completions = nil
		return over, nil, nil
	}
	motion, err := c.countMotion()
	if err != nil {
		return metav1.Condition{}, nil, err
	}
	waitsFor := motion.waitsFor()
	if waitsFor == nil {
		c.cache.completions = nil
		return over, nil, nil
	}
	return updated(rolloutWaiting, waitsFor.motion), waitsFor, nil
}

// inProgress reports whether a rollout of the parent was in progress when it was last synced.
func (c *children) inProgress() bool {
	if status := c.cache.status; status != "" {
		return status == metav1.ConditionFalse
	}
	before := findCondition(c.snapshot.Parent.Lookup("status", "conditions"), ConditionType)
	return textOf(before, "status") == string(metav1.ConditionFalse)
}

// compose makes one answer from the answers for all revisions: the answer for the latest revision, with each
// child as its own revision wants it. It has the earliest resync of all answers and the warnings of all, and is
// finalized only if all are.
func (c *children) compose(responses []*pipeline.Response) *pipeline.Response {
	composed := *responses[0]
	older := map[object.Key]*child{}
	for _, child := range c.inOrder {
		if child.at != 0 {
			older[child.Key] = child
		}
	}
	composed.Children = nil
	for _, desired := range responses[0].Children {
		if key, kind := c.identify(desired); kind != nil && older[key] != nil {
			desired = older[key].wanted()
		}
		composed.Children = append(composed.Children, desired)
	}
	for _, response := range responses[1:] {
		if after := response.ResyncAfter; after > 0 && (composed.ResyncAfter <= 0 || after < composed.ResyncAfter) {
			composed.ResyncAfter = after
		}
		composed.Finalized = composed.Finalized && response.Finalized
		for _, warning := range response.Warnings {
			if !slices.Contains(composed.Warnings, warning) {
				composed.Warnings = append(slices.Clip(composed.Warnings), warning)
			}
		}
		composed.SaysFinalized = composed.SaysFinalized && response.SaysFinalized
	}
	return &composed
}

// keysAt returns the keys of the children that are at the revision with that index.
func (c *children) keysAt(index int) iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for _, child := range c.inOrder {
			if child.at == index && !yield(child.Key) {
				return
			}
		}
	}
}

// keysBehind returns the keys of the children that are not at the latest revision.
func (c *children) keysBehind() iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for _, child := range c.inOrder {
			if child.at != 0 && !yield(child.Key) {
				return
			}
		}
	}
}

// keysOf returns the keys of children.
func keysOf(children []*child) []object.Key {
	var keys []object.Key
	for _, child := range children {
		keys = append(keys, child.Key)
	}
	return keys
}

// isBeforePartition reports whether the partition of its kind keeps the child at its revision.
func (c *child) isBeforePartition() bool { return c.index < c.kind.Partition }

// whyHeldBack returns the end of a message if the partition keeps the child at its revision; empty if it does not.
func (c *child) whyHeldBack() string {
	if c.at == 0 || !c.isBeforePartition() {
		return ""
	}
	return fmt.Sprintf("; partition %d holds it back", c.kind.Partition)
}

// isInMotion reports whether the child was in motion when the sync began.
func (c *child) isInMotion() bool { return c.motion != "" }

// list returns the names of children for a message.
func (c *children) list(some []*child) string {
	return text.JoinFirstFunc(maxListed, some, c.nameOf)
}

// nameOf returns the name of a child for a message.
func (c *children) nameOf(child *child) string {
	return child.Kind + " " + revisions.ChildName(c.snapshot.Parent, child.Key)
}

// maxListed is the maximum number of names in a message.
const maxListed = 10
