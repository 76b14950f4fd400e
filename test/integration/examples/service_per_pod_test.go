// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	web = "statefulset/web"
	// ours is the finalizer that keeps a StatefulSet until its Services are gone.
	ours       = "metacontroller.io/decoratorcontroller-service-per-pod"
	finalizers = "{.metadata.finalizers}"
)

func TestServicePerPod(t *testing.T) {
	t.Parallel()
	example := startExample(t, "service-per-pod", "8083")
	namespace := env.Namespace(t)
	env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, "my-statefulset.yaml"))

	waitForServices := func() {
		t.Helper()
		for _, pod := range []string{"web-0", "web-1", "web-2"} {
			waitFor(t, namespace, "service/"+pod, "{.spec.selector.pod-name}", pod)
		}
	}
	waitForServices()
	createPod(t, namespace, "web-2")
	waitFor(t, namespace, "pod/web-2", "{.metadata.labels.pod-name}", "web-2")

	former := uid(t, namespace, "service/web-1")
	env.Kubectl(t, "delete", "service/web-1", "-n", namespace)
	waitForAnother(t, namespace, "service/web-1", former)

	env.Kubectl(t, "annotate", web, "-n", namespace, "--overwrite", "service-per-pod-ports=80:8080,443:8443")
	waitFor(t, namespace, "service/web-1", "{.spec.ports[*].targetPort}", "8080 8443")
	env.Kubectl(t, "annotate", web, "-n", namespace, "--overwrite", "service-per-pod-ports=http")
	env.WaitForEvent(t, namespace, "web", "SyncError", `is 'http', it should be like "80:8080,443:8443"`)
	env.Kubectl(t, "annotate", web, "-n", namespace, "--overwrite", "service-per-pod-ports=80:8080")
	waitFor(t, namespace, "service/web-1", "{.spec.ports[*].targetPort}", "8080")
	env.Kubectl(t, "scale", web, "-n", namespace, "--replicas=2")
	waitForNone(t, namespace, "service/web-2")
	env.Kubectl(t, "scale", web, "-n", namespace, "--replicas=3")
	waitForServices()

	env.Kubectl(t, "annotate", web, "-n", namespace, "service-per-pod-label-")
	waitForNone(t, namespace, "service/web-2")
	waitFor(t, namespace, web, finalizers, "")
	env.Kubectl(t, "annotate", web, "-n", namespace, "service-per-pod-label=pod-name")
	waitForServices()
	waitFor(t, namespace, web, finalizers, `["`+ours+`"]`)

	deleteInOrder(t, namespace)
}

// deleteInOrder deletes the StatefulSet and checks that its Services are deleted first.
func deleteInOrder(t *testing.T, namespace string) {
	t.Helper()
	const hold, release = `{"metadata":{"finalizers":["example.com/test"]}}`, `{"metadata":{"finalizers":null}}`
	env.Kubectl(t, "patch", "service/web-0", "-n", namespace, "--type=merge", "-p", hold)
	env.Kubectl(t, "delete", web, "-n", namespace, "--wait=false")
	waitForNone(t, namespace, "service/web-2")
	if held := env.Kubectl(t, "get", web, "-n", namespace, "-o", "jsonpath="+finalizers); !strings.Contains(held, ours) {
		t.Errorf("a Service is left, but the StatefulSet's finalizers are %q", held)
	}
	env.Kubectl(t, "patch", "service/web-0", "-n", namespace, "--type=merge", "-p", release)
	waitForNone(t, namespace, web)
}

// createPod does the work of the controller of StatefulSets.
func createPod(t *testing.T, namespace, name string) {
	t.Helper()
	if _, err := env.Kube.CoreV1().Pods(namespace).Create(t.Context(), podOfSet(t, namespace, name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podOfSet returns a Pod of the StatefulSet. It can be created.
func podOfSet(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	waitFor(t, namespace, "serviceaccount/default", "{.metadata.name}", "default") // without it there can be no Pod
	set, err := env.Kube.AppsV1().StatefulSets(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: set.Spec.Template.Spec}
	pod.Name = name
	return pod
}
