// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func pod(restart corev1.RestartPolicy, image string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		Spec:   corev1.PodSpec{RestartPolicy: restart, Containers: []corev1.Container{{Name: "a", Image: image}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func TestStepsOfAPod(t *testing.T) {
	for name, test := range map[string]struct {
		pod       *corev1.Pod
		changes   bool
		phase     corev1.PodPhase
		readiness corev1.ConditionStatus
	}{
		"a new Pod runs and is ready":                       {pod(corev1.RestartPolicyAlways, "nginx", corev1.PodPending), true, corev1.PodRunning, corev1.ConditionTrue},
		"a Pod that runs goes on":                           {pod(corev1.RestartPolicyAlways, "nginx", corev1.PodRunning), false, "", ""},
		"a Pod that is to end is over":                      {pod(corev1.RestartPolicyOnFailure, "busybox", corev1.PodRunning), true, corev1.PodSucceeded, corev1.ConditionFalse},
		"a Pod that is over stays":                          {pod(corev1.RestartPolicyNever, "busybox", corev1.PodSucceeded), false, "", ""},
		"a Pod whose image cannot be run is never ready":    {pod(corev1.RestartPolicyAlways, Broken, corev1.PodPending), true, corev1.PodPending, corev1.ConditionFalse},
		"a Pod that is known not to be ready is left alone": {broken(), false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			changes, next := step(test.pod)
			if changes != test.changes {
				t.Fatalf("it changes: %v", changes)
			}
			if changes && (next.Phase != test.phase || next.Conditions[0].Status != test.readiness) {
				t.Errorf("it is %s, ready %s", next.Phase, next.Conditions[0].Status)
			}
		})
	}
}

func broken() *corev1.Pod {
	of := pod(corev1.RestartPolicyAlways, Broken, corev1.PodPending)
	of.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	return of
}
