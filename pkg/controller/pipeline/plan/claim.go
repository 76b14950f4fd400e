// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// claim adds the steps that adopt the orphans that the parent's selector matches, renew references to the parent of
// another version of its type, and release the children that the selector no longer matches. A kept orphan is adopted
// only if the hook lists it.
func (p *parent) claim(plan *pipeline.Plan, group pipeline.Group, desired []*object.Object) error {
	for _, child := range group.Adopt {
		step := pipeline.Step{Op: pipeline.Adopt, Type: group.Type, Why: "the parent's selector matches it and it has no controller"}
		switch {
		case metav1.GetControllerOfNoCopy(child) != nil:
			step.Why = "its reference to the parent is of another version than " + p.parentType.GroupVersion().String()
		case slices.Contains(group.Kept, child) && !p.isDesired(child, desired):
			continue
		}
		if err := setOwners(&step, child, append(p.othersOwners(child), p.ownerReference())); err != nil {
			return err
		}
		plan.Steps = append(plan.Steps, step)
	}
	for _, child := range group.Release {
		step := pipeline.Step{Op: pipeline.Release, Type: group.Type, Why: "the parent's selector no longer matches it"}
		if err := setOwners(&step, child, p.othersOwners(child)); err != nil {
			return err
		}
		plan.Steps = append(plan.Steps, step)
	}
	return nil
}

// isDesired reports whether an observed child is among the desired ones.
func (p *parent) isDesired(child *object.Object, desired []*object.Object) bool {
	return slices.ContainsFunc(desired, func(of *object.Object) bool {
		return of.GroupVersionKind() == child.GroupVersionKind() && of.Name == child.Name && p.namespaceOf(of) == child.Namespace
	})
}

// othersOwners returns the owners of a child without the parent.
func (p *parent) othersOwners(child *object.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(child.OwnerReferences), p.owns)
}

// setOwners makes the step a merge patch that replaces a child's owners. The host refuses the patch
// if the child has changed since it was observed.
func setOwners(step *pipeline.Step, child *object.Object, owners []metav1.OwnerReference) (err error) {
	var patch struct {
		Metadata struct {
			UID             types.UID               `json:"uid"`
			ResourceVersion string                  `json:"resourceVersion"`
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	patch.Metadata.UID = child.UID
	patch.Metadata.ResourceVersion = child.ResourceVersion
	patch.Metadata.OwnerReferences = owners
	step.Observed, step.Namespace, step.Name = child, child.Namespace, child.Name
	step.Body, err = json.Marshal(patch)
	return err
}
