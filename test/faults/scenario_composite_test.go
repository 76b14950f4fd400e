// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// compositeScenario has a parent with spec.replicas Items that are updated in place.
func compositeScenario() *scenario {
	return &scenario{
		name: "composite", crashesServerSide: true,
		create: func(r *run) { r.createComposite() },
		answer: func(a asked) object {
			return object{"children": a.items(), "status": object{"children": len(a.observed(itemKind))}}
		},
		steps: []step{
			{name: "create", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"replicas": int64(3), "value": "1"})
			}, until: func(r *run) error {
				return errors.Join(r.has("Thing", "p", int64(3), "status", "children"), r.has("Item", "p-2", "1", "data", "value"))
			}},
			{name: "edit and scale down", do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"value": "2", "replicas": 1}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "2", "data", "value"), r.isGone("Item", "p-1"), r.isGone("Item", "p-2"),
					r.has("Thing", "p", int64(1), "status", "children"))
			}},
			{name: "somebody changes a child", do: func(r *run) {
				r.patchItem("p-0", object{"data": object{"value": "other", "more": "1"}})
			}, until: func(r *run) error {
				return r.has("Item", "p-0", "2", "data", "value")
			}},
			{name: "scale up", do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"replicas": 2}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Thing", "p", int64(2), "status", "children"), r.has("Item", "p-1", "2", "data", "value"))
			}},
			{name: "delete", do: func(r *run) {
				r.DeleteParent("p", metav1.DeletePropagationBackground)
			}, until: func(r *run) error {
				return r.isGone("Thing", "p")
			}},
		},
	}
}

// adoptScenario has an orphan that its parent adopts, and that is replaced when it has to change.
func adoptScenario() *scenario {
	return &scenario{
		name: "adopt",
		create: func(r *run) {
			r.createItem("p-0", object{"app": "p"}, object{"a": "1", "b": "1"})
			r.createComposite(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.GenerateSelector = ptr.To(false)
				spec.ChildResources[0].UpdateStrategy.Method = new(v1alpha1.ChildUpdateRecreate)
			})
		},
		answer: func(a asked) object {
			wanted := item("p-0", a.parent().Object["spec"].(object)["data"].(object))
			wanted["metadata"].(object)["labels"] = object{"app": "p"}
			return object{"children": []object{wanted}, "status": object{"children": len(a.observed(itemKind))}}
		},
		steps: []step{
			{name: "adopt", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"selector": object{"matchLabels": object{"app": "p"}}, "data": object{"a": "1", "b": "1"}})
			}, until: func(r *run) error {
				return r.has("Thing", "p", int64(1), "status", "children")
			}},
			{name: "want less", recreates: 1, do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"data": object{"b": nil}}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", nil, "data", "b"), r.has("Thing", "p", int64(1), "status", "children"))
			}},
		},
	}
}

// withFinalize adds a finalize hook.
func withFinalize(spec *v1alpha1.CompositeControllerSpec) {
	spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
}

// finalizeScenario has a finalize hook that takes one child down after the other.
func finalizeScenario() *scenario {
	return &scenario{
		name:   "finalize",
		create: func(r *run) { r.createComposite(withFinalize) },
		answer: func(a asked) object {
			children := a.items()
			there := len(a.observed(itemKind))
			if a.isFinalizing() {
				children = children[:min(len(children), max(there-1, 0))]
			}
			return object{"children": children, "finalized": there == 0, "status": object{"children": there}}
		},
		steps: []step{
			{name: "create", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"replicas": int64(2), "value": "1"})
			}, until: func(r *run) error {
				return r.has("Thing", "p", int64(2), "status", "children")
			}},
			{name: "delete", do: func(r *run) {
				r.DeleteParent("p", metav1.DeletePropagationBackground)
			}, until: func(r *run) error {
				return errors.Join(r.isGone("Thing", "p"), r.isGone("Item", "p-0"), r.isGone("Item", "p-1"))
			}},
			{name: "create again", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"replicas": int64(1), "value": "2"})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "2", "data", "value"), r.has("Thing", "p", int64(1), "status", "children"))
			}},
		},
	}
}

// customizeScenario has a child that copies a related Item.
func customizeScenario() *scenario {
	return &scenario{
		name: "customize",
		create: func(r *run) {
			r.createItem("settings", nil, object{"color": "red"})
			r.createComposite(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
			})
		},
		answer: func(a asked) object {
			if a.path == harness.CustomizePath {
				return object{"relatedResources": []object{{"apiVersion": "faults.example.com/v1", "resource": "items", "names": []string{a.text("settings")}}}}
			}
			color := "none"
			for _, settings := range a.Related[itemKind] {
				color = settings["data"].(object)["color"].(string)
			}
			return object{"children": []object{item("p-0", object{"color": color})}, "status": object{"color": color}}
		},
		steps: []step{
			{name: "create", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"settings": "settings"})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "red", "data", "color"), r.has("Thing", "p", "red", "status", "color"))
			}},
			{name: "edit the related object", do: func(r *run) {
				r.patchItem("settings", object{"data": object{"color": "blue"}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "blue", "data", "color"), r.has("Thing", "p", "blue", "status", "color"))
			}},
			{name: "delete the related object", do: func(r *run) {
				r.deleteItem("settings")
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "none", "data", "color"), r.has("Thing", "p", "none", "status", "color"))
			}},
			{name: "relate another object", do: func(r *run) {
				r.createItem("others", nil, object{"color": "green"})
				r.PatchParent("p", object{"spec": object{"settings": "others"}})
			}, until: func(r *run) error {
				return errors.Join(r.has("Item", "p-0", "green", "data", "color"), r.has("Thing", "p", "green", "status", "color"))
			}},
		},
	}
}
