// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// detached is a test whose context has not ended, for cleaning up.
type detached struct{ *testing.T }

func (d detached) Context() context.Context { return context.WithoutCancel(d.T.Context()) }

const originalName = "metacontroller"

// installOriginal installs the workload of Metacontroller, and plays the controller of StatefulSets and the kubelet for it. It goes
// with the test.
func (w *world) installOriginal(replicas int, args ...string) {
	w.Helper()
	env.Apply(w, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s, namespace: metacontroller}
spec:
  replicas: %[2]d
  serviceName: ""
  selector: {matchLabels: {app.kubernetes.io/name: metacontroller}}
  template:
    metadata: {labels: {app.kubernetes.io/name: metacontroller}}
    spec:
      containers:
      - {name: metacontroller, image: "ghcr.io/metacontroller/metacontroller:v4.17.2", command: [/usr/bin/metacontroller], args: [%[3]s]}
`, originalName, replicas, `"`+strings.Join(append([]string{"--zap-log-level=4"}, args...), `", "`)+`"`))
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	var playing sync.WaitGroup
	playing.Go(func() {
		for ctx.Err() == nil {
			w.playOriginal(ctx)
			pause(ctx, 50*time.Millisecond)
		}
	})
	w.Cleanup(func() {
		stop()
		playing.Wait()
		env.Kubectl(detached{w.T}, "-n", "metacontroller", "delete", "--ignore-not-found", "statefulset/"+originalName, "pod/"+originalName+"-0", "--grace-period=0", "--force")
	})
	if replicas > 0 {
		w.waitForOriginal(true)
	}
}

// playOriginal makes the Pod be there or not.
func (w *world) playOriginal(ctx context.Context) {
	set, err := env.Kube.AppsV1().StatefulSets("metacontroller").Get(ctx, originalName, metav1.GetOptions{})
	if err != nil {
		return
	}
	pods := env.Kube.CoreV1().Pods("metacontroller")
	if ptr.Deref(set.Spec.Replicas, 1) == 0 {
		_ = pods.Delete(ctx, originalName+"-0", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		return
	}
	_, err = pods.Get(ctx, originalName+"-0", metav1.GetOptions{})
	if err == nil {
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: originalName + "-0", Labels: set.Spec.Template.Labels}, Spec: set.Spec.Template.Spec}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
		w.Errorf("make the Pod of Metacontroller: %v", err)
	}
}

func (w *world) waitForOriginal(runs bool) {
	w.Helper()
	w.eventually(func(ctx context.Context) error {
		_, err := env.Kube.CoreV1().Pods("metacontroller").Get(ctx, originalName+"-0", metav1.GetOptions{})
		if is := err == nil; is != runs || err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("Metacontroller runs is %v (%w)", is, err)
		}
		return nil
	})
}

func pause(ctx context.Context, period time.Duration) {
	select {
	case <-time.After(period):
	case <-ctx.Done():
	}
}
