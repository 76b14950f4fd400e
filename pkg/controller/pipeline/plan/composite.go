// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a sync changes in the host: out of what was seen and
// what the hook answered it makes a list of steps, each with its reason. It does no
// I/O, so a plan can be made to be shown as well as to be carried out.
package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Method says what happens to a child that is there and differs from what the hook
// wants.
type Method string

const (
	// OnDelete leaves the child alone until somebody deletes it.
	OnDelete Method = "OnDelete"
	// Recreate deletes the child; it is created anew once it is gone.
	Recreate Method = "Recreate"
	// InPlace updates the child.
	InPlace Method = "InPlace"
)

// Engine is the way in which children are made to be what the hook wants.
type Engine string

const (
	// DynamicApply merges three ways, with a record of what was applied last kept in an
	// annotation.
	DynamicApply Engine = "DynamicApply"
	// ServerSideApply leaves merging to the host, which records who owns which field.
	ServerSideApply Engine = "ServerSideApply"
)

// Strategy is how the children of one type are kept up to date.
type Strategy struct {
	Method Method
	Engine Engine
}

// Strategies are those of the child types. A type that has none has OnDelete and
// DynamicApply.
type Strategies map[schema.GroupKind]Strategy

// childRules is the field of a CompositeController that declares the types of children.
const childRules = "spec.childResources"

// Composite plans the sync of a CompositeController's parent. What it finds to need
// no write it remembers in settled.
func Composite(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies Strategies, upToDate *UpToDateCache) (*pipeline.Plan, error) {
	plan := &pipeline.Plan{}
	// Only a finalize hook can say that there is nothing left to finalize.
	released := snapshot.Finalizing && response.Finalized && hasFinalizer(snapshot)
	if released && snapshot.Parent.DeletionTimestamp != nil {
		return plan, addRemoveFinalizerStep(plan, snapshot)
	}
	if snapshot.Selector == nil {
		return nil, fmt.Errorf("%s has no selector for its children", snapshot.Parent)
	}
	parent := newParent(snapshot, childRules)
	for _, group := range snapshot.Children {
		if err := parent.claim(plan, group); err != nil {
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
	if released && len(plan.Refused) == 0 {
		return plan, addRemoveFinalizerStep(plan, snapshot)
	}
	return plan, nil
}

// addRemoveFinalizerStep adds the step that ends what the controller has to do with a parent.
func addRemoveFinalizerStep(plan *pipeline.Plan, snapshot *pipeline.Snapshot) error {
	step, err := RemoveFinalizerStep(snapshot, whyFinalized)
	if err != nil {
		return err
	}
	plan.Steps = append(plan.Steps, *step)
	return nil
}

// parent is the parent of a sync with what all decisions about its children need.
type parent struct {
	*object.Object
	parentType      pipeline.Type
	selector        labels.Selector
	generatedLabels map[string]string
	// generatedAnnotations are put on all children that are written.
	generatedAnnotations map[string]string
	// foreignStatus tells that the status has a writer of its own.
	foreignStatus bool
	// rulesField is the field of the controller that declares the types of the children.
	rulesField string
}

func newParent(snapshot *pipeline.Snapshot, rules string) *parent {
	return &parent{
		Object:               snapshot.Parent,
		parentType:           snapshot.ParentType,
		selector:             snapshot.Selector,
		generatedLabels:      snapshot.GeneratedLabels,
		generatedAnnotations: snapshot.GeneratedAnnotations,
		foreignStatus:        snapshot.ForeignStatus,
		rulesField:           rules,
	}
}

// checkLabels refuses the whole answer if a child would not be found again.
func (p *parent) checkLabels(desired []*object.Object) error {
	labels := &completedLabels{generated: p.generatedLabels}
	for _, child := range desired {
		labels.own = child.Labels
		if !p.selector.Matches(labels) {
			return fmt.Errorf("labels on desired child %s %s/%s don't match parent selector %q: "+
				"no child and no status was written; give the child labels that match, or set spec.generateSelector",
				child.Kind, p.namespaceOf(child), child.Name, p.selector)
		}
	}
	return nil
}

// labelsOf are the labels a desired child will have.
func (p *parent) labelsOf(child *object.Object) labels.Set {
	if len(p.generatedLabels) == 0 {
		return child.Labels
	}
	return labels.Merge(p.generatedLabels, child.Labels)
}

// namespaceOf is the namespace a desired child will be in; empty names the parent's.
func (p *parent) namespaceOf(child *object.Object) string {
	if child.Namespace == "" {
		return p.Namespace
	}
	return child.Namespace
}
