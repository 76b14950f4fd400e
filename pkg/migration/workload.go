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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

const (
	// NoWorkload is the Config.Original of a cluster in which Metacontroller does not run.
	NoWorkload = "none"
	// originalProgram is the name of Metacontroller's program, and the last part of the name of its image.
	originalProgram = "metacontroller"
	// replicasAnnotation is on the workload of Metacontroller while the migration has stopped it. Its value is the former
	// number of replicas.
	replicasAnnotation = "metacontroller.k8s.io/replicas-before-migration"
)

// workload is a StatefulSet or Deployment of Metacontroller.
type workload struct {
	appsv1.StatefulSet // a Deployment has these fields, too
	resource           string
	replicas           int32
	// args are the arguments of its container.
	args []string
}

func (w workload) String() string {
	return strings.TrimSuffix(w.resource, "s") + "/" + w.Namespace + "/" + w.Name
}

// workloads stops and starts Metacontroller.
type workloads struct{ *cluster }

// find returns the workloads of Metacontroller: the named one, or all that it recognizes.
func (w *workloads) find(ctx context.Context) (found []workload, err error) {
	wanted := w.config.Original
	if wanted == NoWorkload {
		return nil, nil
	}
	for _, resource := range []string{"statefulsets", "deployments"} {
		list, err := w.dynamic.Resource(appsv1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("look for Metacontroller: %w", err)
		}
		for _, item := range list.Items {
			of := workload{resource: resource}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &of.StatefulSet); err != nil {
				return nil, fmt.Errorf("look for Metacontroller: %w", err)
			}
			var runs bool
			of.replicas = ptr.Deref(of.Spec.Replicas, 1)
			of.args, runs = argsOfOriginal(of.Spec.Template.Spec)
			if of.String() == wanted || wanted == "" && runs {
				found = append(found, of)
			}
		}
	}
	if wanted != "" && len(found) == 0 {
		return nil, fmt.Errorf("there is no %s: --original must be statefulset/NAMESPACE/NAME, deployment/NAMESPACE/NAME "+
			"or none", wanted)
	}
	return found, nil
}

// argsOfOriginal returns the arguments of the container whose command or image is Metacontroller's. If there is
// none, runs is false, and args are the arguments of the first container.
func argsOfOriginal(of corev1.PodSpec) (args []string, runs bool) {
	for i, container := range of.Containers {
		image, _, _ := strings.Cut(container.Image, "@")
		program, _, _ := strings.Cut(path.Base(image), ":")
		if len(container.Command) > 0 {
			program = path.Base(container.Command[0])
		}
		if runs = program == originalProgram; runs || i == 0 {
			args = slices.Concat(container.Command, container.Args)
		}
		if runs {
			break
		}
	}
	return args, runs
}

// stop scales Metacontroller to zero, and waits until its Pods have ended.
func (w *workloads) stop(ctx context.Context) error {
	found, err := w.find(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		if of.replicas > 0 {
			if err := w.scale(ctx, of, 0, strconv.Itoa(int(of.replicas))); err != nil {
				return err
			}
		}
		err := w.until(ctx, "Metacontroller to stop", func(ctx context.Context) error { return w.stopped(ctx, of) })
		if err != nil {
			return err
		}
	}
	return nil
}

// stopped returns an error if a workload has Pods that have not terminated.
func (w *workloads) stopped(ctx context.Context, of workload) error {
	list, err := w.kube.CoreV1().Pods(of.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(of.Spec.Selector)})
	if err != nil {
		return fmt.Errorf("look for the Pods of %s: %w", of, err)
	}
	var left []string
	for _, pod := range list.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			left = append(left, pod.Name)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s still has the Pods %s", of, text.JoinFirst(maxNamed, left))
	}
	return nil
}

// start restores the replicas of Metacontroller.
func (w *workloads) start(ctx context.Context) error {
	found, err := w.find(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		before, _ := strconv.Atoi(of.Annotations[replicasAnnotation])
		switch {
		case of.replicas > 0:
		case before == 0:
			w.say("%s has 0 replicas, as before the migration: scale it up", of)
		default:
			if err := w.scale(ctx, of, before, nil); err != nil {
				return err
			}
		}
	}
	if len(found) == 0 {
		w.say("no workload of Metacontroller was found: start it")
	}
	return nil
}

// sayBeside warns if Metacontroller still runs, because both would run the same controllers.
func (w *workloads) sayBeside(ctx context.Context, now *state) error {
	found, err := w.find(ctx)
	for _, of := range found {
		if now.leadsHere && of.replicas > 0 {
			w.say("Metacontroller still runs, as %s, and runs the same controllers as the server: stop it", of)
		}
	}
	return err
}

// scale sets the replicas of a workload, and the replicasAnnotation.
func (w *workloads) scale(ctx context.Context, of workload, replicas int, note any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{replicasAnnotation: note}},
		"spec":     map[string]any{"replicas": replicas},
	})
	if err != nil {
		return err
	}
	_, err = w.dynamic.Resource(appsv1.SchemeGroupVersion.WithResource(of.resource)).Namespace(of.Namespace).
		Patch(ctx, of.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", of, replicas, err)
	}
	w.say("scaled %s from %d to %d", of, of.replicas, replicas)
	return nil
}
