// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// decoratorScenario gives targets a label, a status and spec.replicas Items, and takes all of
// it back when a target is no longer selected.
func decoratorScenario() *scenario {
	return &scenario{
		name: "decorator", crashesServerSide: true,
		create: func(r *run) {
			r.createDecorator(func(spec *v1alpha1.DecoratorControllerSpec) {
				spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
			})
		},
		answer: func(a asked) object {
			there := len(a.observed(itemKind))
			if a.isFinalizing() {
				return object{"attachments": []object{}, "finalized": there == 0, "labels": object{"value": nil}}
			}
			return object{"attachments": a.items(), "labels": object{"value": a.text("value")}, "status": object{"attachments": there}}
		},
		steps: []step{
			{name: "create", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"replicas": int64(2), "value": "1"})
			}, until: func(r *run) error {
				return errors.Join(r.has("Thing", "p", int64(2), "status", "attachments"), r.has("Thing", "p", "1", "metadata", "labels", "value"))
			}},
			{name: "edit and scale down", do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"value": "2", "replicas": 1}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "2", "data", "value"), r.isGone("Item", "p-1"),
					r.has("Thing", "p", int64(1), "status", "attachments"), r.has("Thing", "p", "2", "metadata", "labels", "value"))
			}},
			{name: "somebody changes the target and its attachment", do: func(r *run) {
				r.patchItem("p-0", object{"data": object{"value": "other"}})
				r.PatchParent("p", object{"metadata": object{"labels": object{"value": "other"}}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "2", "data", "value"), r.has("Thing", "p", "2", "metadata", "labels", "value"))
			}},
			{name: "no longer selected", do: func(r *run) {
				r.PatchParent("p", object{"metadata": object{"labels": object{"run": "none"}}})
			}, until: func(r *run) error {
				return errors.Join(r.isGone("Item", "p-0"), r.has("Thing", "p", nil, "metadata", "labels", "value"), r.hasNoFinalizer("p"))
			}},
			{name: "selected again", do: func(r *run) {
				r.PatchParent("p", object{"metadata": r.label()})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "2", "data", "value"), r.has("Thing", "p", int64(1), "status", "attachments"))
			}},
			{name: "delete", do: func(r *run) {
				r.DeleteParent("p", metav1.DeletePropagationBackground)
			}, until: func(r *run) error {
				return errors.Join(r.isGone("Thing", "p"), r.isGone("Item", "p-0"))
			}},
		},
	}
}

func (r *run) hasNoFinalizer(parent string) error {
	if found := r.witness.get("Thing", parent); found != nil && len(found.GetFinalizers()) > 0 {
		return errors.New("the finalizer is still there")
	}
	return nil
}
