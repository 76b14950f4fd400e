// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Everything about update methods starts here:
//   - What a method does to one child is declared here, by the methods of Method: it leaves the child alone, replaces
//     it or updates it. updateChild asks for the first, and the change method of each engine for the second. A method
//     that does something else needs a step of both engines.
//   - The API declares the methods in pkg/apis/metacontroller/v1alpha1 (types_shared.go), and by which of these a
//     rolling method updates one child. Package rollout decides when: until it is the child's turn, the desired form
//     of the child is the old one, so this package sees nothing to change.

// Method is the way to update a child that differs from its desired state.
type Method string

const (
	// OnDelete leaves the child alone until someone deletes it.
	OnDelete Method = "OnDelete"
	// Recreate deletes the child. A later sync creates it again.
	Recreate Method = "Recreate"
	// InPlace updates the child.
	InPlace Method = "InPlace"
)

// leavesAlone reports whether the method never writes the content of a child. A type without a method is such a one.
func (m Method) leavesAlone() bool { return m != Recreate && m != InPlace }

// replaces reports whether the method makes a new child instead of updating the old one. It does not matter for a
// method that leaves the child alone.
func (m Method) replaces() bool { return m != InPlace }

// Engine is the way in which children are written.
type Engine string

const (
	// DynamicApply merges three ways. What was last applied is kept in an annotation.
	DynamicApply Engine = "DynamicApply"
	// ServerSideApply leaves merging to the host, which records who owns which field.
	ServerSideApply Engine = "ServerSideApply"
)

// Strategy is how the children of one type are updated.
type Strategy struct {
	Method Method
	Engine Engine
	// Rolls is true if the children are rolled out one after the other.
	Rolls bool
	// Field is the path of the method in the controller's spec, as messages name it.
	Field string
}

// Strategies are the strategies of child types. A type without one has OnDelete and DynamicApply.
type Strategies map[schema.GroupKind]Strategy

// The reasons of steps that engines share.
const (
	whyMissing  = "the hook lists it and it does not exist"
	whyUpToDate = "it is in its desired state"
	whyLeft     = "no ControllerRevision names it, and its turn in the rolling update has not come"
)

// updateChild returns the step that the update method takes for an existing child. It adds to upToDate a child
// that is as the hook wants it. A rollout that leaves a child as it is makes the observed child the desired one.
func updateChild(
	method Method, engine engine, upToDate *UpToDateCache, observed, desired *object.Object,
) (pipeline.Step, error) {
	switch {
	case observed == desired:
		return keep(observed, whyLeft), nil
	case method.leavesAlone():
		return keep(observed, "its update method is OnDelete"), nil
	}
	step, err := engine.change(method, observed, desired)
	if err == nil && step.Op == pipeline.Keep {
		upToDate.Put(observed.UID, desired.Hash, observed.Hash)
	}
	return step, err
}

// keep returns the step that leaves a child as it is.
func keep(observed *object.Object, why string) pipeline.Step {
	return pipeline.Step{Op: pipeline.Keep, Observed: observed, Why: why}
}

// engine plans how the children of one type reach their desired state. It does not decide whether a child may be
// written.
type engine interface {
	// create returns the step that creates a missing child.
	create(desired *object.Object) (pipeline.Step, error)
	// change returns the step that the method takes for an existing child: Keep if the child is as the hook wants
	// it. OnDelete takes no step; for it, change returns a Recreate if the hook wants another child than before.
	change(method Method, observed, desired *object.Object) (pipeline.Step, error)
	// markListed returns the step that records on a child that the hook has listed it, and changes nothing else.
	// The steps that change a child record that as well.
	markListed(observed *object.Object) (pipeline.Step, error)
}

// engine returns the engine of that name for children of the type that schema describes; schema is nil if the host
// does not describe the type.
func (p *parent) engine(name Engine, schema *openapi.Type) engine {
	if name == ServerSideApply {
		return serverSideApply{p, schema}
	}
	return dynamicApply{p, schema}
}

// UpToDate returns a function that reports whether the strategy of an observed child's type would not write the child
// to make it the desired one. Rollouts use it for the children of rolling methods. It adds such children to upToDate. A
// child that cannot be compared is not up to date; the plan refuses it with an error.
func UpToDate(
	snapshot *pipeline.Snapshot, strategies Strategies, upToDate *UpToDateCache,
) func(observed, desired *object.Object) (bool, error) {
	parent := newParent(snapshot, childRules)
	return func(observed, desired *object.Object) (bool, error) {
		i := slices.IndexFunc(snapshot.Children, func(group pipeline.Group) bool {
			return group.Type.GroupVersionKind() == desired.GroupVersionKind()
		})
		if i < 0 {
			return false, fmt.Errorf("the type of child %s is not declared", desired)
		}
		if upToDate.Is(observed.UID, desired.Hash, observed.Hash) {
			return true, nil
		}
		group := snapshot.Children[i]
		strategy := strategies[group.Type.GroupKind()]
		step, err := updateChild(strategy.Method, parent.engine(strategy.Engine, group.Schema), upToDate, observed, desired)
		return err == nil && step.Op == pipeline.Keep, nil
	}
}
