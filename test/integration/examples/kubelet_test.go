// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// brokenImage is an image with which a Pod runs but never gets ready.
const brokenImage = "broken"

// kubelet does the work of the kubelets for all Pods in a namespace, and records every event.
type kubelet struct {
	testing.TB
	namespace string

	mu    sync.Mutex
	ready map[string]bool // of the Pods that there are
	past  []instant
}

// instant is the state of the Pods after an event.
type instant struct {
	pod   string
	event watch.EventType
	// ready is how many Pods are ready after the event.
	ready int
}

// startKubelet reports all Pods as running, and as ready unless their image is broken, until the
// test ends.
func startKubelet(t *testing.T, namespace string) *kubelet {
	t.Helper()
	k := &kubelet{TB: t, namespace: namespace, ready: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	pods, err := env.Kube.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for event := range pods.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				break
			}
			k.note(event.Type, pod)
			k.run(ctx, event.Type, pod)
		}
		if ctx.Err() == nil {
			t.Error("the watch of Pods has ended")
		}
	})
	t.Cleanup(func() { cancel(); pods.Stop(); running.Wait() })
	return k
}

func (k *kubelet) note(event watch.EventType, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ready, pod.Name)
	if event != watch.Deleted {
		k.ready[pod.Name] = pod.DeletionTimestamp == nil && isReady(pod)
	}
	now := instant{pod: pod.Name, event: event}
	for _, ready := range k.ready {
		if ready {
			now.ready++
		}
	}
	k.past = append(k.past, now)
}

// run reports a new Pod as running, and as ready unless its image is broken.
func (k *kubelet) run(ctx context.Context, event watch.EventType, pod *corev1.Pod) {
	if event == watch.Deleted || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodRunning {
		return
	}
	ready := corev1.ConditionTrue
	if pod.Spec.Containers[0].Image == brokenImage {
		ready = corev1.ConditionFalse
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	_, err := env.Kube.CoreV1().Pods(k.namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		k.Errorf("run Pod %s: %v", pod.Name, err)
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// now returns the index of the next instant.
func (k *kubelet) now() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.past)
}

// since returns all instants from one on.
func (k *kubelet) since(from int) []instant {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.past[from:])
}

// gone returns the Pods that were deleted since an instant, in order.
func (k *kubelet) gone(from int) (pods []string) {
	for _, now := range k.since(from) {
		if now.event == watch.Deleted {
			pods = append(pods, now.pod)
		}
	}
	return pods
}

// expectOneAtATime checks that since an instant at most one of so many Pods was not ready, and that
// the Pods with these numbers were deleted in that order. Other watches may have seen the deletions
// earlier.
func (k *kubelet) expectOneAtATime(from, pods int, gone ...int) {
	k.Helper()
	env.Eventually(k, func(context.Context) error {
		if went := k.gone(from); len(went) < len(gone) {
			return fmt.Errorf("gone are %v, want %v", went, names(gone...))
		}
		return nil
	})
	for _, now := range k.since(from) {
		if now.ready < pods-1 {
			k.Errorf("when %s was %s only %d of %d Pods were ready", now.pod, now.event, now.ready, pods)
		}
	}
	if went := k.gone(from); !slices.Equal(went, names(gone...)) {
		k.Errorf("the Pods went in the order %v, want %v", went, names(gone...))
	}
}

// mergePatch applies a JSON merge patch to an object of the namespace. The client is faster than
// kubectl.
func (k *kubelet) mergePatch(catSet, patch string) {
	k.Helper()
	_, err := env.Dynamic.Resource(catSets).Namespace(k.namespace).Patch(k.Context(), catSet, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		k.Fatal(err)
	}
}
