// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestRollingInPlaceWaitsUntilTheSpecIsObserved(t *testing.T) {
	underBothEngines(t, func(t *testing.T, engine change) {
		t.Parallel()
		r := startRolling(t, v1alpha1.ChildUpdateRollingInPlace, engine)
		r.startAll(2)
		before := r.partUIDs()
		r.observe("a-0", 1)
		r.rollOut("2")
		r.waitForVersions("2", "1")
		r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 with RollingInPlace update strategy hasn't observed latest spec")
		r.observe("a-0", 2)
		r.waitForEnd("2", "2")
		for name, uid := range r.partUIDs() {
			if uid != before[name] {
				t.Errorf("%s was made anew", name)
			}
		}
	})
}

// observe sets the observed generation of a part, as its controller would.
func (r *rolling) observe(name string, generation int64) {
	r.Helper()
	_, err := env.Dynamic.Resource(r.parts).Namespace(r.Namespace).Patch(r.Context(), name, types.MergePatchType,
		[]byte(harness.JSON(r, object{"status": object{"observedGeneration": generation}})), metav1.PatchOptions{}, "status")
	if err != nil {
		r.Fatal(err)
	}
}

// Names of children that the latest revision does not want are dropped one by one. New children
// start at the latest revision.
func TestQ4ScaledInTheMiddleOfARollout(t *testing.T) {
	underBothEngines(t, func(t *testing.T, engine change) {
		t.Parallel()
		r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate, engine)
		r.startAll(3)
		r.rollOut("2")
		r.waitForVersions("2", "1", "1")

		r.PatchParent("a", object{"spec": object{"replicas": 5}})
		r.waitForVersions("2", "1", "1", "2", "2")
		r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
		r.makeReady("a-0", "a-3", "a-4")
		r.waitForVersions("2", "2", "1", "2", "2")

		r.PatchParent("a", object{"spec": object{"replicas": 2}})
		r.waitForEnd("2", "2")
		r.PatchParent("a", object{"spec": object{"replicas": 3}})
		r.waitForEnd("2", "2", "2")
	})
}

// A rollout that is overtaken leaves one child that is not ready. No other child may be moved until
// it is ready.
func TestAThirdRevisionBeforeTheSecondIsDone(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
	r.startAll(3)
	r.rollOut("2")
	r.waitForVersions("2", "1", "1")
	r.makeReady("a-0")
	r.waitForVersions("2", "2", "1")
	r.rollOut("3")
	r.waitForVersions("2", "3", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-1 failed")
	r.waitForRevisions(3)
	r.makeReady("a-1")
	r.waitForVersions("3", "3", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.waitForRevisions(2)
	r.makeReady("a-0")
	r.waitForEnd("3", "3", "3")
}

// Reverting a change ends a stuck rollout. Only the child that had been moved is created again.
func TestARevertedRolloutIsStuckNoMore(t *testing.T) {
	underBothEngines(t, func(t *testing.T, engine change) {
		t.Parallel()
		r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate, engine)
		r.startAll(3)
		before := r.partUIDs()
		r.rollOut("broken")
		r.waitForVersions("broken", "1", "1")
		r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
		r.rollOut("1")
		r.waitForEnd("1", "1", "1")
		r.makeReady("a-0")
		r.Settle("a")
		after := r.partUIDs()
		if after["a-0"] == before["a-0"] || after["a-1"] != before["a-1"] || after["a-2"] != before["a-2"] {
			t.Errorf("the parts were %v and are %v, want a-0 alone to be another", before, after)
		}
	})
}

func TestAChildDeletedInTheMiddleComesBackAtItsRevision(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
	r.startAll(3)
	r.rollOut("2")
	r.waitForVersions("2", "1", "1")
	r.deletePart("a-2")
	r.waitForVersions("2", "1", "1")
	r.deletePart("a-0")
	r.waitForVersions("2", "1", "1")
	// No other child may move while a-2 is not ready, so a-2 moves before a-1.
	r.makeReady("a-0")
	r.waitForVersions("2", "1", "2")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-2 failed")
	r.makeReady("a-2")
	r.waitForEnd("2", "2", "2")
}

// deletePart deletes a part and waits until it was created again.
func (r *rolling) deletePart(name string) {
	r.Helper()
	parts := env.Dynamic.Resource(r.parts).Namespace(r.Namespace)
	before := r.partUIDs()[name]
	if err := parts.Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	env.Eventually(r, func(ctx context.Context) error {
		part, err := parts.Get(ctx, name, metav1.GetOptions{})
		if err == nil && part.GetUID() == before {
			err = errStillThere
		}
		return err
	})
}

// A child that the latest revision does not want is deleted at once. A child that only an older
// revision does not want moves to the latest.
func TestAHookThatDropsAChildInTheMiddle(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
	r.startAll(4)
	r.answer(func(asked request) object {
		dropped := map[string]string{"1": "a-3", "2": "a-1"}[versionOf(&asked.Parent)]
		parts := slices.DeleteFunc(r.desired(asked), func(part object) bool { return part["metadata"].(object)["name"] == dropped })
		return object{"status": object{}, "children": parts}
	})
	r.rollOut("2")
	r.waitForVersions("1", "1", "2") // a-0, a-2, a-3
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-3 failed")
	r.makeReady("a-3")
	r.waitForVersions("2", "1", "2")
	r.makeReady("a-0")
	r.waitForEnd("2", "2", "2")
}

func TestTwoRollingKindsMoveInOneOrder(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	gears := &rolling{fixture: r.fixture, parts: env.Install(t, harness.CRD{Kind: "Gear"})}
	r.answer(func(asked request) object {
		parts, gear := r.desired(asked), gears.part("a-0", versionOf(&asked.Parent))
		gear["kind"] = "Gear"
		return object{"status": object{}, "children": []object{parts[0], gear, parts[1]}}
	})
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = append(spec.ChildResources, rollingRule(gears.parts, v1alpha1.ChildUpdateRollingInPlace))
	}))
	r.startAll(2)
	gears.makeReady("a-0")
	gears.waitUntilPartsAreSeen()
	gear := gears.partUIDs()["a-0"]

	r.rollOut("2")
	r.waitForVersions("2", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	gears.waitForVersions("1")
	r.makeReady("a-0")
	// A gear that is updated in place stays ready, so the rollout does not wait for it.
	r.waitForEnd("2", "2")
	gears.waitForVersions("2")
	if gears.partUIDs()["a-0"] != gear {
		t.Error("the gear was made anew")
	}
}
