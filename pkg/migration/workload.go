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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// Workload names a StatefulSet or a Deployment. The zero value stands for any that is recognized as Metacontroller.
type Workload struct{ Kind, Namespace, Name string }

// NoWorkload returns the Workload for a cluster in which Metacontroller does not run.
func NoWorkload() Workload { return Workload{Kind: "none"} }

// ParseWorkload parses kind/namespace/name, "none", or an empty text for any.
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

// replicasAnnotation is on the workload of Metacontroller while the migration has stopped it. Its value is the former
// number of replicas.
const replicasAnnotation = "metacontroller.k8s.io/replicas-before-migration"

// originalProgram is the name of Metacontroller's program, and the last part of the name of its image.
const originalProgram = "metacontroller"

// runningOriginal is a workload of Metacontroller.
type runningOriginal struct {
	Workload
	replicas int32
	selector *metav1.LabelSelector
	// args are the arguments of its container.
	args []string
	// before is the number of replicas that it had when a migration stopped it, or 0.
	before int32
}

// workloads stops and starts Metacontroller.
type workloads struct{ *cluster }

// find returns the workloads of Metacontroller: the named one, or those that are recognised.
func (w *workloads) find(ctx context.Context) (found []runningOriginal, err error) {
	named := w.config.Original
	if named == NoWorkload() {
		return nil, nil
	}
	for _, kind := range []string{"statefulset", "deployment"} {
		list, err := w.dynamic.Resource(workloadResource(kind)).Namespace(named.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("look for Metacontroller: %w", err)
		}
		for _, item := range list.Items {
			var of appsv1.StatefulSet // a Deployment has these fields, too
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &of); err != nil {
				return nil, fmt.Errorf("look for Metacontroller: %w", err)
			}
			is := Workload{kind, of.Namespace, of.Name}
			args, runs := argsOfOriginal(of.Spec.Template.Spec)
			if is == named || named == (Workload{}) && runs {
				before, _ := strconv.ParseInt(of.Annotations[replicasAnnotation], 10, 32)
				found = append(found, runningOriginal{is, ptr.Deref(of.Spec.Replicas, 1), of.Spec.Selector, args, int32(before)})
			}
		}
	}
	if named != (Workload{}) && len(found) == 0 {
		return nil, fmt.Errorf("there is no %s", named)
	}
	return found, nil
}

func workloadResource(kind string) schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource(kind + "s")
}

// argsOfOriginal returns the arguments of the container whose command or image is Metacontroller's. If there is
// none, runs is false, and args are the arguments of the first container.
func argsOfOriginal(of corev1.PodSpec) (args []string, runs bool) {
	for _, container := range of.Containers {
		image, _, _ := strings.Cut(container.Image, "@")
		program, _, _ := strings.Cut(path.Base(image), ":")
		if len(container.Command) > 0 {
			program = path.Base(container.Command[0])
		}
		if program == originalProgram {
			return slices.Concat(container.Command, container.Args), true
		}
	}
	if len(of.Containers) == 0 {
		return nil, false
	}
	return slices.Concat(of.Containers[0].Command, of.Containers[0].Args), false
}

// stop scales Metacontroller to zero, and waits until its Pods have ended.
func (w *workloads) stop(ctx context.Context) error {
	found, err := w.find(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		if of.replicas > 0 {
			if err := w.scale(ctx, of, 0); err != nil {
				return err
			}
			w.say("scaled %s from %d to 0", of.Workload, of.replicas)
		}
		err := w.until(ctx, "Metacontroller to stop", func(ctx context.Context) error {
			left, err := w.pods(ctx, of)
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("%s still has the Pods %s", of.Workload, enumerate.First(maxNamed, left))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pods returns the names of the Pods of a workload that have not terminated.
func (w *workloads) pods(ctx context.Context, of runningOriginal) (names []string, err error) {
	list, err := w.kube.CoreV1().Pods(of.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(of.selector)})
	if err != nil {
		return nil, fmt.Errorf("look for the Pods of %s: %w", of.Workload, err)
	}
	for _, pod := range list.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

// start restores the replicas of Metacontroller.
func (w *workloads) start(ctx context.Context) error {
	found, err := w.find(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		if of.replicas > 0 {
			continue
		}
		if of.before == 0 {
			w.say("%s has no replicas and had none before the migration: scale it up", of.Workload)
			continue
		}
		if err := w.scale(ctx, of, of.before); err != nil {
			return err
		}
		w.say("scaled %s from 0 to %d", of.Workload, of.before)
	}
	if len(found) == 0 {
		w.say("no workload of Metacontroller was found: start it")
	}
	return nil
}

// sayBeside warns if Metacontroller runs beside the server, since both would run the same controllers.
func (w *workloads) sayBeside(ctx context.Context, now *state) error {
	if !now.leadsHere {
		return nil
	}
	found, err := w.find(ctx)
	for _, of := range found {
		if of.replicas > 0 {
			w.say("Metacontroller runs beside the server, as %s: stop it, or both run the same controllers", of.Workload)
		}
	}
	return err
}

// scale sets the replicas of a workload. If it stops the workload, it records their former number.
func (w *workloads) scale(ctx context.Context, of runningOriginal, replicas int32) error {
	note := map[string]any{replicasAnnotation: nil}
	if replicas == 0 {
		note[replicasAnnotation] = strconv.Itoa(int(of.replicas))
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": note},
		"spec": map[string]any{"replicas": replicas}})
	if err != nil {
		return err
	}
	_, err = w.dynamic.Resource(workloadResource(of.Kind)).Namespace(of.Namespace).Patch(ctx, of.Name,
		types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", of.Workload, replicas, err)
	}
	return nil
}
