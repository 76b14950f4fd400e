// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// childRules is the field of a CompositeController that declares the types of children.
const childRules = "spec.childResources"

// Composite plans the sync of a CompositeController's parent. It adds objects that need no write to upToDate.
func Composite(
	snapshot *pipeline.Snapshot, response *pipeline.Response, strategies Strategies, upToDate *UpToDateCache,
) (*pipeline.Plan, error) {
	plan := &pipeline.Plan{Desired: len(response.Children)}
	finalized := isFinalized(snapshot, response)
	if finalized && snapshot.Parent.DeletionTimestamp != nil {
		return plan, addRemoveFinalizerStep(plan, snapshot)
	}
	if snapshot.Selector == nil {
		return nil, fmt.Errorf("%s has no selector for its children", snapshot.Parent)
	}
	parent := newParent(snapshot, childRules)
	for _, group := range snapshot.Children {
		if err := parent.claim(plan, group, response.Children); err != nil {
			return nil, err
		}
	}
	if err := parent.checkLabels(response.Children); err != nil {
		plan.Refused = append(plan.Refused, err)
		return plan, nil
	}
	c := children{parent: parent, strategies: strategies, upToDate: upToDate, plan: plan, strict: response.Strict}
	if err := c.manage(snapshot, response.Children); err != nil {
		plan.Refused = append(plan.Refused, err)
		return plan, nil
	}
	if err := parent.status(plan, response.Status, upToDate); err != nil {
		return nil, err
	}
	parent.leaveTerminating(plan)
	parent.warn(plan, upToDate, c.duplicates, response.Children)
	warnOfDeletedChildren(plan, snapshot, response, "children")
	if finalized && len(plan.Refused) == 0 {
		return plan, addRemoveFinalizerStep(plan, snapshot)
	}
	return plan, nil
}

// Decorator plans the sync of a DecoratorController's target and its attachments. The target is written first.
// Decorator releases and adopts nothing. It adds objects that need no write to upToDate.
func Decorator(
	snapshot *pipeline.Snapshot, response *pipeline.Response, strategies Strategies, upToDate *UpToDateCache,
) (*pipeline.Plan, error) {
	plan := &pipeline.Plan{ParentFirst: true, Desired: len(response.Children)}
	parent := newParent(snapshot, "spec.attachments")
	for _, group := range snapshot.Children {
		if err := parent.claim(plan, group, response.Children); err != nil {
			return nil, err
		}
	}
	c := children{parent: parent, strategies: strategies, upToDate: upToDate, plan: plan, strict: response.Strict}
	if err := c.manage(snapshot, response.Children); err != nil {
		plan.Refused = append(plan.Refused, err)
		return plan, nil
	}
	t := target{parent: parent, upToDate: upToDate, finalized: finalizesTarget(snapshot, response, plan)}
	steps, err := t.steps(snapshot, response)
	if err != nil {
		return nil, err
	}
	plan.Steps = append(steps, plan.Steps...)
	parent.leaveTerminating(plan)
	parent.warn(plan, upToDate, c.duplicates, response.Children)
	warnOfDeletedChildren(plan, snapshot, response, "attachments")
	return plan, nil
}

// finalizesTarget reports whether the plan removes the finalizer from the target. A target that is not
// being deleted keeps it while attachments are refused, because nothing would make the controller sync
// them again.
func finalizesTarget(snapshot *pipeline.Snapshot, response *pipeline.Response, plan *pipeline.Plan) bool {
	return isFinalized(snapshot, response) && (snapshot.Parent.DeletionTimestamp != nil || len(plan.Refused) == 0)
}

// warnOfDeletedChildren warns of a plan that deletes all children of the parent, unless it finalizes the parent.
// The hook intends that if its answer lists other children, or an empty list. It rarely does if its answer
// lacks the field in which it lists children.
func warnOfDeletedChildren(
	plan *pipeline.Plan, snapshot *pipeline.Snapshot, response *pipeline.Response, field string,
) {
	if snapshot.Finalizing || isDeletionKnown(response) {
		return
	}
	var deleted []string
	for _, step := range plan.Steps {
		if step.Op == pipeline.Delete {
			deleted = append(deleted, step.Observed.String())
		}
	}
	if len(deleted) == 0 || len(deleted) < len(Deletable(snapshot)) {
		return
	}
	slices.Sort(deleted)
	warning := pipeline.Warning{Reason: v1alpha1.ReasonChildrenDeleted, About: field, Chosen: response.SaysChildren}
	warning.Message = fmt.Sprintf("The server deletes all %s of this object (%s), because the answer of the sync hook ",
		field, text.JoinFirst(maxListed, deleted))
	if warning.Chosen {
		warning.Message += "lists none of them."
		plan.Notices = append(plan.Notices, warning)
		return
	}
	warning.Message += fmt.Sprintf("has no field %q. If that is not intended, look for a return statement that is "+
		"missing in the hook. Hooks of version v2, or with responseUnMarshallMode: strict, reject such an answer and "+
		"delete nothing.", field)
	plan.Warnings = append(plan.Warnings, warning)
}

// isDeletionKnown reports whether the answer already has a warning that the children are deleted.
func isDeletionKnown(response *pipeline.Response) bool {
	for _, warning := range response.Warnings {
		if warning.Reason == v1alpha1.ReasonChildrenDeleted {
			return true
		}
	}
	return false
}

// CompositeInputs returns the hash of everything that the plan for a CompositeController's parent depends on, except
// for the hook's answer. While both stay the same, so does the plan. The hash leaves out fields that do not change a
// plan and that others write to the parent, such as its annotations.
func CompositeInputs(snapshot *pipeline.Snapshot) uint64 {
	h := snapshotHash{}
	h.addSnapshot(snapshot)
	h.addNumber(uint64(snapshot.Parent.Generation))
	if snapshot.Selector != nil {
		h.addText(snapshot.Selector.String())
	}
	return h.digest.Sum64()
}

// DecoratorInputs is CompositeInputs for a DecoratorController's target. The plan for a target also
// depends on its labels and annotations.
func DecoratorInputs(snapshot *pipeline.Snapshot) uint64 {
	h := snapshotHash{}
	h.addSnapshot(snapshot)
	h.addNumber(snapshot.Parent.Hash)
	return h.digest.Sum64()
}

// snapshotHash hashes the inputs of a plan.
type snapshotHash struct{ digest xxhash.Digest }

// addSnapshot adds the inputs of the plans of both kinds.
func (h *snapshotHash) addSnapshot(snapshot *pipeline.Snapshot) {
	h.digest.Reset()
	h.addNumber(snapshot.SchemasVersion)
	parent := snapshot.Parent
	h.addText(string(parent.UID))
	h.addBytes(parent.Lookup("status"))
	isDeleted := parent.DeletionTimestamp != nil
	for _, value := range []bool{snapshot.Managed, snapshot.Finalizing, hasFinalizer(snapshot), isDeleted} {
		h.addBool(value)
	}
	for _, group := range snapshot.Children {
		h.addObjects(group.Claimed)
		h.addObjects(group.Kept)
		h.addObjects(group.Adopt)
		h.addObjects(group.Release)
	}
}

func (h *snapshotHash) addObjects(objects []*object.Object) {
	h.addNumber(uint64(len(objects)))
	for _, o := range objects {
		h.addText(string(o.UID))
		h.addText(o.ResourceVersion)
		// The same version may have other content, for example after a conversion webhook has changed.
		h.addNumber(o.Hash)
	}
}

func (h *snapshotHash) addText(text string) {
	h.addNumber(uint64(len(text)))
	_, _ = h.digest.WriteString(text)
}

func (h *snapshotHash) addBytes(bytes []byte) {
	h.addNumber(uint64(len(bytes)))
	_, _ = h.digest.Write(bytes)
}

func (h *snapshotHash) addBool(value bool) {
	if value {
		h.addNumber(1)
	} else {
		h.addNumber(0)
	}
}

func (h *snapshotHash) addNumber(number uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], number)
	_, _ = h.digest.Write(bytes[:])
}
