// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// UpToDate reports whether nothing has to be written to make the observed child what desired
// says.
type UpToDate func(observed, desired *object.Object) (bool, error)

// Decision is what a sync does for a parent's rollout.
type Decision struct {
	// Writes update the stored revisions. They must be made in this order: after each of them, the revision of
	// every child still names it.
	Writes []revisions.Write
	// Response combines the hook's answers for all revisions. Its status has the condition.
	Response *pipeline.Response
	// Updated is the condition that shows how far the rollout is.
	Updated metav1.Condition
	// Moved are the children that move to the latest revision now, Behind those that stay at an earlier one.
	Moved, Behind []object.Key
	// Waits is true if children in motion keep others from moving.
	Waits bool
	// Recheck is the time after which a child may count as healthy although nothing changes; zero if there is no
	// such child.
	Recheck time.Duration
	// Advice adds to the message of Updated: it names the field of the controller's spec that makes the rollout
	// wait, and what is probably wrong with it. It is empty if the rollout waits for something else.
	Advice string
}

// Decide decides which revision each child is at. The responses are the hook's answers for the Revisions, in
// the same order. An error comes from upToDate, or says that the status of the answer cannot have conditions.
func (r *Rollout) Decide(responses []*pipeline.Response, upToDate UpToDate, now time.Time) (*Decision, error) {
	if len(responses) != len(r.Revisions) {
		return nil, fmt.Errorf("there are %d answers for %d revisions of %s",
			len(responses), len(r.Revisions), r.snapshot.Parent)
	}
	c := r.children(responses, upToDate, now)
	if err := c.assign(); err != nil {
		return nil, err
	}
	condition, moved, waitsFor, err := c.advance()
	if err != nil {
		return nil, err
	}
	d := &Decision{
		Moved: keysOf(moved), Behind: slices.Collect(c.keysBehind()),
		Writes: r.writes(c, condition), Response: c.compose(responses), Updated: condition,
		Waits: waitsFor != nil, Recheck: c.recheck, Advice: waitsFor.advice(),
	}
	d.Updated.LastTransitionTime = r.lastTransition(condition, now)
	d.Response.Status, err = r.withCondition(d.Response.Status, d.Updated)
	if d.Response.Status != nil {
		d.Response.Warnings = slices.Concat(d.Response.Warnings, r.conditionWarnings())
	}
	d.Response.Warnings = slices.Concat(d.Response.Warnings, r.ignoredWarnings())
	return d, err
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
	switch {
	case len(behind) == 0 && len(heldBack) == 0:
		condition, waitsFor, err = c.finish()
		return condition, nil, waitsFor, err
	case len(behind) == 0:
		message := fmt.Sprintf("partition %d holds back %s", heldBack[0].kind.Partition, c.list(heldBack))
		return updated(rolloutWaiting, message), nil, nil, nil
	}
	motion, err := c.countMotion()
	if err != nil {
		return metav1.Condition{}, nil, nil, err
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
	return updated(rolloutWaiting, waitsFor.motion), nil, waitsFor, nil
}

// finish returns the condition when all children are at the latest revision. The rollout is over once they are
// healthy, too; until then finish also returns the child that the rollout waits for. Once the rollout is over,
// the health of the children does not change the condition.
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
			desired = older[key].desired[older[key].at]
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
