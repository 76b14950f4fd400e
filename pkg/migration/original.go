// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// Workload is a StatefulSet or a Deployment. The zero value is any.
type Workload struct {
	Kind, Namespace, Name string
}

// NoWorkload says that Metacontroller does not run in the cluster as a workload.
func NoWorkload() Workload { return Workload{Kind: "none"} }

// ParseWorkload reads kind/namespace/name, "none", or nothing for any.
func ParseWorkload(text string) (Workload, error) {
	switch text {
	case "":
		return Workload{}, nil
	case "none":
		return NoWorkload(), nil
	}
	parts := strings.Split(strings.ToLower(text), "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" || parts[0] != "statefulset" && parts[0] != "deployment" {
		return Workload{}, fmt.Errorf("%q is neither statefulset/NAMESPACE/NAME nor deployment/NAMESPACE/NAME nor none", text)
	}
	return Workload{parts[0], parts[1], parts[2]}, nil
}

func (w Workload) String() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// replicasAnnotation is on the workload of Metacontroller while it is stopped for a migration. Its value says how many replicas it had.
const replicasAnnotation = "metacontroller.k8s.io/replicas-before-migration"

// originalProgram is the name of Metacontroller's program, and the last part of the name of its image.
const originalProgram = "metacontroller"

// runningOriginal is a workload of Metacontroller.
type runningOriginal struct {
	Workload
	replicas int32
	selector *metav1.LabelSelector
	// args are those of its container.
	args []string
	// before is how many replicas it had when a migration stopped it; 0 if none did.
	before int32
}

// originals returns the workloads of Metacontroller.
func (m *Migration) originals(ctx context.Context) ([]runningOriginal, error) {
	if m.config.Original == NoWorkload() {
		return nil, nil
	}
	var found []runningOriginal
	namespace := m.config.Original.Namespace
	sets, err := m.kube.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("look for Metacontroller: %w", err)
	}
	for i := range sets.Items {
		of := &sets.Items[i]
		found = m.appendOriginal(found, "statefulset", of.ObjectMeta, of.Spec.Replicas, of.Spec.Selector, of.Spec.Template.Spec)
	}
	deployments, err := m.kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("look for Metacontroller: %w", err)
	}
	for i := range deployments.Items {
		of := &deployments.Items[i]
		found = m.appendOriginal(found, "deployment", of.ObjectMeta, of.Spec.Replicas, of.Spec.Selector, of.Spec.Template.Spec)
	}
	if named := m.config.Original; named != (Workload{}) && len(found) == 0 {
		return nil, fmt.Errorf("there is no %s", named)
	}
	return found, nil
}

// appendOriginal appends a workload if it is the named one, or runs Metacontroller if none is named.
func (m *Migration) appendOriginal(to []runningOriginal, kind string, of metav1.ObjectMeta, replicas *int32, selector *metav1.LabelSelector, pod corev1.PodSpec) []runningOriginal {
	is := Workload{kind, of.Namespace, of.Name}
	args, runs := argsOfOriginal(pod)
	if m.config.Original != is && (m.config.Original != (Workload{}) || !runs) {
		return to
	}
	before, _ := strconv.ParseInt(of.Annotations[replicasAnnotation], 10, 32)
	return append(to, runningOriginal{is, ptr.Deref(replicas, 1), selector, args, int32(before)})
}

// argsOfOriginal returns the arguments of the container that runs Metacontroller, or else those of the first one. runs reports whether
// one does.
func argsOfOriginal(of corev1.PodSpec) (args []string, runs bool) {
	for _, container := range of.Containers {
		if runsOriginal(container) {
			return slices.Concat(container.Command, container.Args), true
		}
	}
	if len(of.Containers) == 0 {
		return nil, false
	}
	return slices.Concat(of.Containers[0].Command, of.Containers[0].Args), false
}

// runsOriginal reports whether a container runs Metacontroller, by its command or its image.
func runsOriginal(container corev1.Container) bool {
	if len(container.Command) > 0 {
		return path.Base(container.Command[0]) == originalProgram
	}
	image, _, _ := strings.Cut(container.Image, "@")
	name := path.Base(image)
	name, _, _ = strings.Cut(name, ":")
	return name == originalProgram
}

// pods returns the Pods of a workload that have not ended.
func (m *Migration) pods(ctx context.Context, of runningOriginal) ([]corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(of.selector)
	if err != nil {
		return nil, err
	}
	list, err := m.kube.CoreV1().Pods(of.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("look for the Pods of %s: %w", of.Workload, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	}), nil
}

func podNames(of []corev1.Pod) (names []string) {
	for _, pod := range of {
		names = append(names, pod.Name)
	}
	return names
}

// OriginalRunsError is the error of a step for which Metacontroller must not run.
type OriginalRunsError struct{ Workload Workload }

func (e *OriginalRunsError) Error() string {
	return fmt.Sprintf("Metacontroller still runs, as %s: scale it to zero, or have --stop-original do that", e.Workload)
}

// ensureOriginalStopped stops Metacontroller if that is wanted. It returns an *OriginalRunsError if it runs.
func (m *Migration) ensureOriginalStopped(ctx context.Context) error {
	found, err := m.originals(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		if of.replicas > 0 && !m.config.StopOriginal {
			return &OriginalRunsError{of.Workload}
		}
		if err := m.stop(ctx, of); err != nil {
			return err
		}
	}
	m.sayIfNotFound(found)
	return nil
}

// sayIfNotFound says that nothing can be said of Metacontroller.
func (m *Migration) sayIfNotFound(found []runningOriginal) {
	if len(found) == 0 && m.config.Original != NoWorkload() {
		m.say("no workload of Metacontroller was found; if it runs elsewhere, stop it now")
	}
}

// stop scales a workload to zero, and waits until its Pods have ended.
func (m *Migration) stop(ctx context.Context, of runningOriginal) error {
	if of.replicas > 0 {
		if err := m.scale(ctx, of, 0); err != nil {
			return err
		}
		m.say("scaled %s from %d to 0", of.Workload, of.replicas)
	}
	return m.until(ctx, "the end of Metacontroller", func(ctx context.Context) error {
		left, err := m.pods(ctx, of)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%s has the Pods %s", of.Workload, enumerate.First(maxNamed, podNames(left)))
		}
		return err
	})
}

// startOriginal gives Metacontroller the replicas back that it had.
func (m *Migration) startOriginal(ctx context.Context) error {
	found, err := m.originals(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		if of.replicas > 0 || of.before == 0 {
			continue
		}
		if !m.config.StopOriginal {
			m.say("start Metacontroller now: kubectl -n %s scale %s %s --replicas=%d", of.Namespace, of.Kind, of.Name, of.before)
			continue
		}
		if err := m.scale(ctx, of, of.before); err != nil {
			return err
		}
		m.say("scaled %s from 0 to %d", of.Workload, of.before)
	}
	return nil
}

// scale sets the replicas of a workload, and notes how many it had before it was stopped.
func (m *Migration) scale(ctx context.Context, of runningOriginal, replicas int32) error {
	note := map[string]any{replicasAnnotation: nil}
	if replicas == 0 {
		note[replicasAnnotation] = strconv.Itoa(int(of.replicas))
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": note}, "spec": map[string]any{"replicas": replicas}})
	if err != nil {
		return err
	}
	if of.Kind == "deployment" {
		_, err = m.kube.AppsV1().Deployments(of.Namespace).Patch(ctx, of.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	} else {
		_, err = m.kube.AppsV1().StatefulSets(of.Namespace).Patch(ctx, of.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", of.Workload, replicas, err)
	}
	return nil
}
