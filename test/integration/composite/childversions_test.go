// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The hook and the controller change the version of a child's type one after the other, in either order. The child
// stays the same object, and becomes what the hook answers once both have the same version.
func TestAChildTypeInAnotherVersion(t *testing.T) {
	underBothEngines(t, testAChildTypeInAnotherVersion)
}

func testAChildTypeInAnotherVersion(t *testing.T, engine change) {
	t.Parallel()
	f := start(t, answers(t, autoscaler), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = autoscalersIn("v1")
	}, engine)
	f.CreateParent("a", object{"version": "v1", "target": 80})
	first := f.waitForTarget(80)

	declare := func(version string) {
		f.Helper()
		spec := v1alpha1.CompositeControllerSpec{ChildResources: autoscalersIn(version)}
		engine(&spec)
		f.PatchController(object{"spec": object{"childResources": spec.ChildResources}})
	}
	f.PatchParent("a", object{"spec": object{"version": "v2", "target": 70}})
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", `spec.childResources declares no kind "HorizontalPodAutoscaler" `+
		`in apiVersion "autoscaling/v2"; did you mean autoscaling/v1 HorizontalPodAutoscaler?`)
	f.waitForTarget(80)
	declare("v2")
	f.waitForTarget(70)

	declare("v1")
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", "did you mean autoscaling/v1 HorizontalPodAutoscaler?")
	f.PatchParent("a", object{"spec": object{"version": "v1", "target": 60}})
	last := f.waitForTarget(60)

	if first.UID != last.UID {
		t.Error("the child was replaced")
	}
	f.Settle("a")
	from := env.AuditEnd(t)
	f.Settle("a")
	env.ExpectNoRequests(t, from, hostcluster.Request{
		Verbs: hostcluster.Writes(), Group: "autoscaling", Resource: "horizontalpodautoscalers", Namespace: f.Namespace,
	})
}

// autoscalersIn declares the children in a version.
func autoscalersIn(version string) []v1alpha1.CompositeControllerChildResourceRule {
	return []v1alpha1.CompositeControllerChildResourceRule{
		harness.ChildRule("autoscaling/"+version, "horizontalpodautoscalers", v1alpha1.ChildUpdateInPlace),
	}
}

// autoscaler answers a HorizontalPodAutoscaler in the version that the parent says.
func autoscaler(asked request) object {
	said := asked.Parent.Object["spec"].(object)
	spec := object{
		"minReplicas": 1, "maxReplicas": 3,
		"scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
	}
	if said["version"] == "v1" {
		spec["targetCPUUtilizationPercentage"] = said["target"]
	} else {
		target := object{"type": "Utilization", "averageUtilization": said["target"]}
		spec["metrics"] = []object{{"type": "Resource", "resource": object{"name": "cpu", "target": target}}}
	}
	return object{"children": []object{{
		"apiVersion": fmt.Sprint("autoscaling/", said["version"]), "kind": "HorizontalPodAutoscaler",
		"metadata": object{"name": "a"}, "spec": spec,
	}}}
}

// waitForTarget waits until the child has exactly one metric, with this target.
func (f *fixture) waitForTarget(target int32) (found *autoscalingv2.HorizontalPodAutoscaler) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) (err error) {
		found, err = env.Kube.AutoscalingV2().HorizontalPodAutoscalers(f.Namespace).Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		metrics := found.Spec.Metrics
		if len(metrics) != 1 || metrics[0].Resource == nil ||
			ptr.Deref(metrics[0].Resource.Target.AverageUtilization, 0) != target {
			return fmt.Errorf("the metrics are %v, want one with the target %d", metrics, target)
		}
		return nil
	})
	return found
}
