// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// unobservedPeriod is for how long a new child waits for its own controller. After that, if the status
// shows no sign of one, the host probably runs none.
const unobservedPeriod = 10 * time.Second

const unobserved = "its controller has not observed it yet"

// completion is what is known of a child in a version: why its own controller has not completed the last
// change, empty if it has.
type completion struct {
	version, why string
}

// whyNotCompleted returns why the own controller of a child has not completed the last change of it, by
// the rules of kstatus. It is empty if it has, or if there is no such controller. A child is decoded only once
// in each version.
func (c *children) whyNotCompleted(child *child) string {
	observed := child.observed
	if !hasOwnController(observed) {
		return ""
	}
	if observed.Lookup("status") == nil {
		if c.hasObserved(child.GroupKind) {
			return unobserved
		}
		return ""
	}
	known := c.cache.completions[observed.UID]
	if known.version != observed.ResourceVersion || known.version == "" {
		known = completion{observed.ResourceVersion, computeStatus(observed)}
	}
	if c.completions == nil {
		c.completions = map[types.UID]completion{}
	}
	c.completions[observed.UID] = known
	if generationObserved(observed) > 0 {
		return known.why
	}
	switch age := c.now.Sub(observed.CreationTimestamp.Time); {
	case hasConditions(observed):
		return known.why
	case c.hasObserved(child.GroupKind):
		return unobserved
	case known.why == "":
		return ""
	case age < unobservedPeriod:
		c.recheck = max(unobservedPeriod-age, 1)
		return known.why
	}
	return ""
}

// hasOwnController reports whether a controller may carry out the changes of an object. None does for Pods
// and Jobs, of which hardly anything changes, and a PersistentVolumeClaim may wait for the Pod that uses it. A
// DaemonSet with OnDelete waits for others to delete its Pods.
func hasOwnController(of *object.Object) bool {
	switch of.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "PersistentVolumeClaim"},
		schema.GroupKind{Group: "batch", Kind: "Job"}:
		return false
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return string(of.Lookup("spec", "updateStrategy", "type")) != `"OnDelete"`
	}
	return true
}

// computeStatus returns why the status of an object does not show it as current; empty if it does, or if
// the status is in no form that is known.
func computeStatus(of *object.Object) string {
	content, err := of.Decode()
	if err != nil {
		return ""
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil || result.Status == status.CurrentStatus {
		return ""
	}
	return result.Message
}

// hasObserved reports whether a controller has observed any child of a kind.
func (c *children) hasObserved(kind schema.GroupKind) bool {
	if c.observedKinds == nil {
		c.observedKinds = map[schema.GroupKind]bool{}
		for _, child := range c.inOrder {
			if child.observed != nil && generationObserved(child.observed) > 0 {
				c.observedKinds[child.GroupKind] = true
			}
		}
	}
	return c.observedKinds[kind]
}

// hasConditions reports whether a status has conditions, which only controllers write.
func hasConditions(of *object.Object) bool {
	conditions := of.Lookup("status", "conditions")
	return conditions != nil && string(conditions) != "null" && string(conditions) != "[]"
}
