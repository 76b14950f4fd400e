// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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

// counts are the fields that say how many of the wanted Pods of an object are ready. The number of those that are ready
// may be left out if it is 0. Then it counts only together with the number of existing replicas, because any type may
// have the field spec.replicas.
var counts = []struct {
	wanted, exist, ready []string
}{
	{[]string{"spec", "replicas"}, []string{"status", "replicas"}, []string{"status", "readyReplicas"}},
	{[]string{"status", "desiredNumberScheduled"}, []string{"status", "currentNumberScheduled"},
		[]string{"status", "numberReady"}},
}

// missingReplicas returns how many of the wanted Pods of an object are ready, if not all are.
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
