// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestRollingInPlaceWaitsUntilTheSpecIsObserved(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingInPlace)
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
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
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
}

// Reverting a change ends a stuck rollout. Only the child that had been moved is created again.
func TestARevertedRolloutIsStuckNoMore(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
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
}
