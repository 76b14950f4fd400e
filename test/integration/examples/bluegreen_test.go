// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBlueGreen(t *testing.T) {
	t.Parallel()
	example := startExample(t, "bluegreen", "8091")
	namespace := env.Namespace(t)
	env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, "my-bluegreen.yaml"))
	const parent = "bluegreendeployment/nginx"
	isActive := func(color string, generation int) {
		t.Helper()
		waitFor(t, namespace, "service/nginx-frontend", "{.spec.selector.color}", color)
		waitFor(t, namespace, parent, "{.status.activeColor} {.status.active.availableReplicas} {.status.observedGeneration}",
			fmt.Sprintf("%s 3 %d", color, generation))
	}
	scaled(t, namespace, "nginx-blue", 3)
	scaled(t, namespace, "nginx-green", 0)
	isActive("blue", 1)

	env.Kubectl(t, "patch", parent, "-n", namespace, "--type=merge", "-p",
		`{"spec":{"template":{"metadata":{"labels":{"new":"label"}}}}}`)
	waitFor(t, namespace, "replicaset/nginx-green", "{.spec.replicas}", "3")
	isActive("blue", 2) // until the other is available
	scaled(t, namespace, "nginx-green", 3)
	isActive("green", 2)
	scaled(t, namespace, "nginx-blue", 0)

	env.Kubectl(t, "patch", parent, "-n", namespace, "--type=merge", "-p",
		`{"spec":{"template":{"metadata":{"labels":{"new2":"label2"}}}}}`)
	scaled(t, namespace, "nginx-blue", 3)
	isActive("blue", 3)
	scaled(t, namespace, "nginx-green", 0)
}

// scaled does the work of the controller of ReplicaSets. It waits until a ReplicaSet has the
// desired number of replicas, and reports them as available.
func scaled(t *testing.T, namespace, name string, replicas int32) {
	t.Helper()
	sets := env.Kube.AppsV1().ReplicaSets(namespace)
	env.Eventually(t, func(ctx context.Context) error {
		set, err := sets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if *set.Spec.Replicas != replicas {
			return fmt.Errorf("%s is to have %d replicas, want %d", name, *set.Spec.Replicas, replicas)
		}
		status := &set.Status
		status.Replicas, status.ReadyReplicas, status.AvailableReplicas = replicas, replicas, replicas
		status.ObservedGeneration = set.Generation
		_, err = sets.UpdateStatus(ctx, set, metav1.UpdateOptions{})
		return err
	})
}
