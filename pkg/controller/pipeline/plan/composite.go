// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// childRules is the field of a CompositeController that declares the types of children.
const childRules = "spec.childResources"

// Composite plans the sync of a CompositeController's parent. It puts what needs no write into
// upToDate.
func Composite(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies Strategies, upToDate *UpToDateCache) (*pipeline.Plan, error) {
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
	sayAllAreDeleted(plan, snapshot, response, "children")
	if finalized && len(plan.Refused) == 0 {
		return plan, addRemoveFinalizerStep(plan, snapshot)
	}
	return plan, nil
}
