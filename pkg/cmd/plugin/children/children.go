// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package children finds the children of a parent in the cluster, and the problems that an object shows in its status.
package children

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Of returns the children of a parent that a controller owns, ordered by kind and name. It skips types that cannot be
// listed, and returns problems for them.
func Of(ctx context.Context, client dynamic.Interface, controller *lookup.Controller,
	parent *unstructured.Unstructured) (all []unstructured.Unstructured, problems []error) {
	for _, rule := range controller.ChildTypes() {
		version, err := schema.ParseGroupVersion(rule.APIVersion)
		if err == nil {
			var found []unstructured.Unstructured
			found, err = list(ctx, client.Resource(version.WithResource(rule.Resource)).Namespace(parent.GetNamespace()),
				controller, parent)
			all = append(all, found...)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("children of type %s are not shown: %w", rule.Resource, err))
		}
	}
	slices.SortFunc(all, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetKind()+"/"+a.GetNamespace()+"/"+a.GetName(),
			b.GetKind()+"/"+b.GetNamespace()+"/"+b.GetName())
	})
	// A controller may name a type twice, or in two versions.
	isSame := func(a, b unstructured.Unstructured) bool { return a.GetUID() == b.GetUID() }
	return slices.CompactFunc(all, isSame), problems
}

// list returns the objects of a type that are children.
func list(ctx context.Context, client dynamic.ResourceInterface, controller *lookup.Controller,
	parent *unstructured.Unstructured) (found []unstructured.Unstructured, err error) {
	options := metav1.ListOptions{}
	if composite, ok := controller.Object.(*v1alpha1.CompositeController); ok &&
		ptr.Deref(composite.Spec.GenerateSelector, false) {
		options.LabelSelector = object.GeneratedLabel + "=" + string(parent.GetUID())
	}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	})
	err = pages.EachListItem(ctx, options, func(item runtime.Object) error {
		if one := item.(*unstructured.Unstructured); isChild(one, controller, parent) {
			found = append(found, *one)
		}
		return nil
	})
	return found, err
}

// isChild reports whether an object is a child that the parent has of the controller.
func isChild(child *unstructured.Unstructured, controller *lookup.Controller, parent *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil || owner.UID != parent.GetUID() {
		return false
	}
	decorator := child.GetAnnotations()[object.DecoratorAnnotation]
	if controller.Kind == lookup.Decorator {
		return decorator == controller.GetName()
	}
	return decorator == ""
}

// Trouble returns the problem that an object shows, or what it waits for; empty if there is none.
func Trouble(of *unstructured.Unstructured) string {
	if of.GetDeletionTimestamp() != nil {
		if finalizers := of.GetFinalizers(); len(finalizers) > 0 {
			return "is being deleted, and waits for " + strings.Join(finalizers, ", ")
		}
		return "is being deleted"
	}
	if of.GetKind() == "Pod" && of.GetAPIVersion() == "v1" {
		return troubleOfPod(of)
	}
	return cmp.Or(missingReplicas(of), badCondition(of), badPhase(of))
}

// troubleOfPod returns why a Pod is not ready.
func troubleOfPod(pod *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	if phase == "Succeeded" {
		return ""
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			if reason, _, _ := unstructured.NestedString(fields, "state", "waiting", "reason"); reason != "" {
				message, _, _ := unstructured.NestedString(fields, "state", "waiting", "message")
				return withMessage(reason, message)
			}
		}
	}
	if phase != "Running" {
		message, _, _ := unstructured.NestedString(pod.Object, "status", "message")
		return withMessage(cmp.Or(phase, "not started"), message)
	}
	return badCondition(pod)
}

// counts are the fields that say how many of the wanted Pods of an object are ready. The number of those that are
// ready may be left out if it is 0. Then it counts only together with the number of those that exist, since any type
// may have the field spec.replicas.
var counts = []struct {
	wanted, exist, ready []string
}{
	{[]string{"spec", "replicas"}, []string{"status", "replicas"}, []string{"status", "readyReplicas"}},
	{[]string{"status", "desiredNumberScheduled"}, []string{"status", "currentNumberScheduled"},
		[]string{"status", "numberReady"}},
}

// missingReplicas says how many of the wanted Pods of an object are ready, if not all are.
func missingReplicas(of *unstructured.Unstructured) string {
	for _, count := range counts {
		wanted, there, err := unstructured.NestedInt64(of.Object, count.wanted...)
		if !there || err != nil {
			continue
		}
		_, exist, _ := unstructured.NestedInt64(of.Object, count.exist...)
		ready, counted, err := unstructured.NestedInt64(of.Object, count.ready...)
		if err == nil && (exist || counted) && ready < wanted {
			return fmt.Sprintf("%d of %d ready", ready, wanted)
		}
	}
	return ""
}

// good are the conditions that should be True, and bad those that should not be.
var (
	good = []string{"Ready", "Available", "Established", "Synced", "Healthy", "Succeeded"}
	bad  = []string{"Failed", "Stalled", "Degraded", "ReplicaFailure"}
)

// badCondition returns the first condition of an object that shows a problem.
func badCondition(of *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	status := map[string]string{}
	texts := map[string]string{}
	for _, one := range conditions {
		fields, _ := one.(map[string]any)
		name, _ := fields["type"].(string)
		status[name], _ = fields["status"].(string)
		reason, _ := fields["reason"].(string)
		message, _ := fields["message"].(string)
		texts[name] = withMessage(reason, message)
	}
	for _, name := range bad {
		if status[name] == "True" {
			return withMessage(name, texts[name])
		}
	}
	for _, name := range good {
		if status[name] == "False" || status[name] == "Unknown" {
			return withMessage("not "+name, texts[name])
		}
	}
	return ""
}

// badPhase returns the phase of an object if it shows a problem.
func badPhase(of *unstructured.Unstructured) string {
	switch phase, _, _ := unstructured.NestedString(of.Object, "status", "phase"); phase {
	case "Pending", "Failed", "Lost", "Unknown", "Error":
		return phase
	}
	return ""
}

// withMessage returns a reason, and a message if there is one, in one line.
func withMessage(reason, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}
