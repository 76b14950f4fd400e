// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

var catSets = schema.GroupVersionResource{Group: "ctl.enisoc.com", Version: "v1", Resource: "catsets"}

const (
	backend = "catset/nginx-backend"
	// readyReplicas and updated read a CatSet's status.
	readyReplicas = "{.status.readyReplicas}"
	updated       = `{.status.conditions[?(@.type=="Updated")].reason} {.status.conditions[?(@.type=="Updated")].message}`
)

// startCatSet runs the example with a CatSet of so many Pods in a new namespace. The Pods are
// applied by an engine.
func startCatSet(t *testing.T, apply v1alpha1.ChildApplyStrategy, replicas int) *kubelet {
	t.Helper()
	example := startExample(t, "catset", "8090")
	env.Kubectl(t, "patch", "cc", "catset-controller", "--type=json", "-p",
		fmt.Sprintf(`[{"op":"add","path":"/spec/childResources/0/updateStrategy/apply","value":%q}]`, apply))
	k := startKubelet(t, env.Namespace(t))
	env.Kubectl(t, "apply", "-n", k.namespace, "-f", filepath.Join(example, "my-catset.yaml"))
	k.mergePatch("nginx-backend", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	waitFor(t, k.namespace, backend, readyReplicas, fmt.Sprint(replicas))
	return k
}

// use changes the image of the template.
func (k *kubelet) use(image string) {
	k.Helper()
	k.mergePatch("nginx-backend", `{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"`+image+`"}]}}}}`)
}

// waitForRollout waits until all Pods have the image of the template and are ready, and the old
// revision is gone.
func (k *kubelet) waitForRollout(t *testing.T) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		set, err := env.Dynamic.Resource(catSets).Namespace(k.namespace).Get(ctx, "nginx-backend", metav1.GetOptions{})
		if err != nil {
			return err
		}
		replicas, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
		status := fmt.Sprint(set.Object["status"])
		for _, wanted := range []string{"OnLatestRevision", fmt.Sprintf("observedGeneration:%d ", set.GetGeneration()), fmt.Sprintf("readyReplicas:%d ", replicas)} {
			if !strings.Contains(status, wanted) {
				return fmt.Errorf("there is no %s in the status %s", wanted, status)
			}
		}
		revisions, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(k.namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(revisions.Items) != 1 {
			err = fmt.Errorf("there are %d revisions", len(revisions.Items))
		}
		return err
	})
}

// names returns the names of the Pods with these numbers.
func names(ordinals ...int) (pods []string) {
	for _, ordinal := range ordinals {
		pods = append(pods, fmt.Sprintf("nginx-backend-%d", ordinal))
	}
	return pods
}

func TestCatSet(t *testing.T) {
	t.Parallel()
	k := startCatSet(t, v1alpha1.ChildApplyDynamic, 3)
	waitFor(t, k.namespace, "pod/nginx-backend-2",
		"{.spec.hostname}.{.spec.subdomain} {.spec.volumes[0].persistentVolumeClaim.claimName}",
		"nginx-backend-2.nginx-backend www-nginx-backend-2")
	waitFor(t, k.namespace, "pvc/www-nginx-backend-2", "{.spec.resources.requests.storage}", "1Gi")

	env.Kubectl(t, "scale", backend, "-n", k.namespace, "--replicas=4")
	waitFor(t, k.namespace, backend, readyReplicas, "4")
	from := k.now()
	env.Kubectl(t, "scale", backend, "-n", k.namespace, "--replicas=2")
	waitFor(t, k.namespace, backend, "{.status.replicas}", "2")
	k.expectOneAtATime(from, 3, 3, 2)
	waitFor(t, k.namespace, "pvc/www-nginx-backend-3", "{.metadata.name}", "www-nginx-backend-3")

	t.Run("Pods move one by one", k.rollsOut)
	t.Run("a Pod that is never ready stops a rollout", k.isStopped)

	const foreign = "metacontroller.io/catset-test"
	env.Kubectl(t, "patch", backend, "-n", k.namespace, "--type=json", "-p",
		`[{"op":"add","path":"/metadata/finalizers/-","value":"`+foreign+`"}]`)
	env.Kubectl(t, "delete", backend, "-n", k.namespace, "--wait=false")
	env.Eventually(t, func(ctx context.Context) error {
		left, err := env.Host.RunKubectl(ctx, "get", backend, "-n", k.namespace,
			"-o", "jsonpath={.status.replicas} {.metadata.finalizers}")
		if err == nil && left != `0 ["`+foreign+`"]` {
			err = fmt.Errorf("Pods and finalizers are %s", left)
		}
		return err
	})
	env.Kubectl(t, "patch", backend, "-n", k.namespace, "--type=merge", "-p", `{"metadata":{"finalizers":[]}}`)
	waitForNone(t, k.namespace, backend)
}

func TestCatSetByServerSideApply(t *testing.T) {
	k := startCatSet(t, v1alpha1.ChildApplyServerSide, 3)
	t.Run("Pods move one by one", k.rollsOut)
	t.Run("a Pod that is never ready stops a rollout", k.isStopped)
}

// rollsOut changes the template of five Pods.
func (k *kubelet) rollsOut(t *testing.T) {
	env.Kubectl(t, "scale", backend, "-n", k.namespace, "--replicas=5")
	waitFor(t, k.namespace, backend, readyReplicas, "5")
	k.waitForRollout(t)
	from := k.now()
	k.use("nginx:1.29")
	k.waitForRollout(t)
	k.expectOneAtATime(from, 5, 4, 3, 2, 1, 0)
	images := env.Kubectl(t, "get", "pods", "-n", k.namespace, "-o", "jsonpath={.items[*].spec.containers[0].image}")
	if want := strings.TrimSuffix(strings.Repeat("nginx:1.29 ", 5), " "); images != want {
		t.Errorf("the images are %q, want %q", images, want)
	}
	env.WaitForEvent(t, k.namespace, "nginx-backend", "RolloutStarted", "updating Pod nginx-backend-4")
	env.WaitForEvent(t, k.namespace, "nginx-backend", "RolloutFinished", "latest ControllerRevision: catsets.ctl.enisoc.com-")
}

// isStopped gives five Pods a template with which none can be ready, and then reverts it.
func (k *kubelet) isStopped(t *testing.T) {
	from := k.now()
	k.use(brokenImage)
	waitFor(t, k.namespace, backend, updated, `RolloutWaiting child Pod nginx-backend-4 failed status check: "Ready" condition status is "False" (want "True")`)
	k.use("nginx:1.29")
	k.waitForRollout(t)
	// Only the broken Pod is created again.
	k.expectOneAtATime(from, 5, 4, 4)
}
