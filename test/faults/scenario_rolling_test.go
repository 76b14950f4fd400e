// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// rolling makes the children Parts that roll one by one, when the ones before are Ready.
func rolling(t *run, method v1alpha1.ChildUpdateMethod) harness.CompositeChange {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		rule := harness.ChildRule(sharedTypesOf(t).parts.GroupVersion().String(), "parts", method)
		rule.UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{
			Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready", Status: ptr.To("True")}},
		}
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{rule}
		spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"spec.version"}}
	}
}

const partKind = "Part.faults.example.com/v1"

// parts returns spec.replicas Parts of spec.version.
func (a asked) parts() []object {
	parts := []object{}
	for i := range a.number("replicas") {
		parts = append(parts, object{
			"apiVersion": "faults.example.com/v1", "kind": "Part",
			"metadata": object{"name": fmt.Sprintf("%s-%d", a.parent().GetName(), i)}, "spec": object{"version": a.text("version")},
		})
	}
	return parts
}

// areReady returns an error unless there are so many Parts, all of a version and ready, and the
// rollout is over.
func (r *run) areReady(replicas int, version string) error {
	for i := range replicas {
		name := fmt.Sprintf("p-%d", i)
		if err := r.has("Part", name, version, "spec", "version"); err != nil {
			return err
		}
		if !isReady(r.witness.get("Part", name)) {
			return fmt.Errorf("Part %s is not ready", name)
		}
	}
	return errors.Join(r.isGone("Part", fmt.Sprintf("p-%d", replicas)), r.isRolledOut(), r.has("Thing", "p", int64(replicas), "status", "parts"))
}

func (r *run) isRolledOut() error {
	if n := r.witness.count("ControllerRevision"); n != 1 {
		return fmt.Errorf("there are %d ControllerRevisions", n)
	}
	parent := r.witness.get("Thing", "p")
	conditions, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	if len(conditions) != 1 || conditions[0].(object)["status"] != "True" {
		return fmt.Errorf("the rollout is not over: %v", conditions)
	}
	return nil
}

// rollingScenario rolls children out to new versions, once and once again while that is under way.
func rollingScenario(method v1alpha1.ChildUpdateMethod) *scenario {
	once, twice := 0, 0
	if method == v1alpha1.ChildUpdateRollingRecreate {
		once, twice = 1, 2
	}
	return &scenario{
		name: string(method), rolls: true, hasKubelet: true, maxUnavailable: 1,
		crashesServerSide: method == v1alpha1.ChildUpdateRollingInPlace,
		create:            func(r *run) { r.createComposite(rolling(r, method)) },
		answer: func(a asked) object {
			return object{"children": a.parts(), "status": object{"parts": len(a.observed(partKind))}}
		},
		steps: []step{
			{name: "create", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"replicas": int64(2), "version": "1"})
			}, until: func(r *run) error { return r.areReady(2, "1") }},
			{name: "roll out", recreates: once, do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"version": "2"}})
			}, until: func(r *run) error { return r.areReady(2, "2") }},
			{name: "change one's mind", recreates: twice, do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"version": "3"}})
				r.PatchParent("p", object{"spec": object{"version": "4"}})
			}, until: func(r *run) error { return r.areReady(2, "4") }},
			{name: "scale down", do: func(r *run) {
				r.PatchParent("p", object{"spec": object{"replicas": 1}})
			}, until: func(r *run) error { return r.areReady(1, "4") }},
		},
	}
}

// orphanScenario deletes a parent whose children have rolled, and leaves them behind
// (kubectl delete --cascade=orphan). The finalize hook lets it go when it is told to.
func orphanScenario() *scenario {
	return &scenario{
		name: "orphan", rolls: true, hasKubelet: true, maxUnavailable: 1,
		create: func(r *run) { r.createComposite(rolling(r, v1alpha1.ChildUpdateRollingInPlace), withFinalize) },
		answer: func(a asked) object {
			answer := object{"children": a.parts(), "status": object{"parts": len(a.observed(partKind))}}
			if a.isFinalizing() {
				answer["children"] = []object{}
				answer["finalized"] = a.parent().GetAnnotations()["let-go"] != ""
			}
			return answer
		},
		steps: []step{
			{name: "create", do: func(r *run) {
				r.CreateParentWith("p", r.label(), object{"replicas": int64(2), "version": "1"})
			}, until: func(r *run) error { return r.areReady(2, "1") }},
			{name: "delete", do: func(r *run) {
				sharedTypesOf(r).awaitGarbageCollector(r)
				r.pause() // the finalize hook would delete the children before the host has orphaned them
				r.DeleteParent("p", metav1.DeletePropagationOrphan)
				r.await(func() error {
					if parent := r.witness.get("Thing", "p"); parent.GetDeletionTimestamp() == nil || len(parent.GetFinalizers()) != 1 {
						return fmt.Errorf("the cluster has not orphaned the children: deleted at %v, the finalizers are %v", parent.GetDeletionTimestamp(), parent.GetFinalizers())
					}
					return nil
				})
				r.resume()
			}, until: func(r *run) error { return r.has("Thing", "p", int64(0), "status", "parts") }, orphansRevisions: true},
			{name: "let go", orphansRevisions: true, do: func(r *run) {
				r.PatchParent("p", object{"metadata": object{"annotations": object{"let-go": "now"}}})
			}, until: func(r *run) error {
				return errors.Join(r.isGone("Thing", "p"), r.has("Part", "p-0", nil, "metadata", "ownerReferences"))
			}},
		},
	}
}
