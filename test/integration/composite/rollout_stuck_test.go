// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A rollout that has waited for a child for a minute says which status check it waits for.
func TestARolloutThatWaitsForLongSaysForWhat(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
	r.startAll(2)
	r.rollOut("2")
	env.WaitForEvent(t, r.Namespace, "a", "RolloutWaiting", "The rollout waits: "+
		`spec.childResources[0].updateStrategy.statusChecks.conditions[0].type is "Ready", and Part a-0 has no such condition (it has none)`)
	r.WaitForCondition(v1alpha1.ConditionWarnings, metav1.ConditionTrue)
}
