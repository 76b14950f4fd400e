// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// name is that of the Node object. Pods are not bound to it, so that their deletion does not wait for a
// kubelet.
const name = "node"

// Broken is an image that the node cannot run: its Pods stay pending.
const Broken = "broken"

// Node is a node that runs.
type Node struct {
	client kubernetes.Interface
	pods   cache.SharedIndexInformer
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	stop   context.CancelFunc
	work   sync.WaitGroup
	failed error
}

// Start makes the Node object, and runs all Pods of the cluster until Stop.
func Start(ctx context.Context, client kubernetes.Interface) (*Node, error) {
	ready := corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	made, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make the node: %w", err)
	}
	made.Spec.Taints = nil // admission says that new nodes are not ready
	if made, err = client.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("take the taints off the node: %w", err)
	}
	made.Status = ready
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("report the node as ready: %w", err)
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	n := &Node{
		client: client,
		pods:   informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](10*time.Millisecond, time.Second)),
		stop:   stop,
	}
	enqueue := func(object any) {
		if pod, isPod := object.(*corev1.Pod); isPod {
			n.queue.Add(cache.MetaObjectToName(pod))
		}
	}
	if _, err := n.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, pod any) { enqueue(pod) }}); err != nil {
		stop()
		return nil, fmt.Errorf("watch Pods: %w", err)
	}
	n.work.Go(func() { n.pods.RunWithContext(running) })
	n.work.Go(func() {
		for n.next(running) {
		}
	})
	return n, nil
}

// Stop ends the node. Its error says what it could not do.
func (n *Node) Stop() error {
	n.stop()
	n.queue.ShutDown()
	n.work.Wait()
	return n.failed
}

func (n *Node) next(ctx context.Context) bool {
	pod, over := n.queue.Get()
	if over {
		return false
	}
	defer n.queue.Done(pod)
	if err := n.run(ctx, pod); err != nil {
		n.queue.AddRateLimited(pod)
		return true
	}
	n.queue.Forget(pod)
	return true
}

// run moves a Pod one step on: it is running, and then over if its containers are to end.
func (n *Node) run(ctx context.Context, of cache.ObjectName) error {
	found, exists, err := n.pods.GetStore().GetByKey(of.String())
	if err != nil || !exists {
		return err
	}
	pod := found.(*corev1.Pod).DeepCopy()
	next, last := step(pod)
	if pod.DeletionTimestamp != nil || !next {
		return nil
	}
	pod.Status = last
	_, err = n.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil { // another event comes
		return nil
	}
	if apierrors.IsInvalid(err) {
		n.failed = fmt.Errorf("run Pod %s: %w", of, err)
	}
	return err
}

// step returns the status that follows on that of a Pod, if there is one.
func step(pod *corev1.Pod) (changes bool, next corev1.PodStatus) {
	next = *pod.Status.DeepCopy()
	if pod.Spec.Containers[0].Image == Broken {
		next.Phase = corev1.PodPending
		next.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
		return len(pod.Status.Conditions) == 0, next
	}
	ends := pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	started := metav1.Now()
	switch {
	case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "":
		next.Phase, next.StartTime = corev1.PodRunning, &started
		next.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started}}
		next.ContainerStatuses = containers(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}, true)
	case pod.Status.Phase == corev1.PodRunning && ends:
		next.Phase = corev1.PodSucceeded
		next.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: started}}
		next.ContainerStatuses = containers(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: started}}, false)
	default:
		return false, next
	}
	return true, next
}

func containers(pod *corev1.Pod, state corev1.ContainerState, ready bool) (statuses []corev1.ContainerStatus) {
	for _, container := range pod.Spec.Containers {
		statuses = append(statuses, corev1.ContainerStatus{Name: container.Name, Image: container.Image, State: state, Ready: ready, Started: &ready})
	}
	return statuses
}
