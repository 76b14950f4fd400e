// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// leaveTerminating removes the steps that write a Namespace that is being deleted, or create something in it: the host
// refuses to create, and has its own status there. The removal of the finalizer stays.
func (p *parent) leaveTerminating(plan *pipeline.Plan) {
	if p.DeletionTimestamp == nil || p.parentType.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return
	}
	plan.Steps = slices.DeleteFunc(plan.Steps, func(step pipeline.Step) bool {
		switch {
		case step.Op == pipeline.Status, step.Op == pipeline.Metadata && !step.RemovesFinalizer:
			return true
		default:
			return step.Creates() && step.Namespace == p.Name
		}
	})
}
