// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DecoratorController adds behavior to existing objects, which may have a controller of their own. For each selected
// object, the server sends the object and its attachments to the webhook, which returns the desired attachments, and
// labels, annotations and a status to set on the object.
type DecoratorController struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name becomes part of objects in users' clusters (attachments carry it in the
	// annotation "metacontroller.k8s.io/decorator-controller"), so a controller with another name is another controller.
	metav1.ObjectMeta `json:"metadata"`

	// spec says which objects are decorated, what may be attached to them and which webhook decides.
	Spec DecoratorControllerSpec `json:"spec"`

	// status is the last observed state of the running controller. Only the server writes it.
	// +optional
	Status ControllerStatus `json:"status,omitempty,omitzero"`
}

// ParentTypes returns the types of the objects that the controller is for, each once.
func (d *DecoratorController) ParentTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range d.Spec.Resources {
		if !slices.Contains(types, rule.ResourceRule) {
			types = append(types, rule.ResourceRule)
		}
	}
	return types
}

// ChildTypes returns the types of the objects that the controller manages.
func (d *DecoratorController) ChildTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range d.Spec.Attachments {
		types = append(types, rule.ResourceRule)
	}
	return types
}

// GetSpec returns the spec, which must not be changed.
func (d *DecoratorController) GetSpec() any { return &d.Spec }

// GetAccess returns the service account of the controller and what it may reach. It must not be changed.
func (d *DecoratorController) GetAccess() *Access { return &d.Spec.Access }

// GetStatus returns the status, which may be changed.
func (d *DecoratorController) GetStatus() *ControllerStatus { return &d.Status }

// DecoratorControllerSpec describes a controller that attaches objects and metadata to objects of any types (targets).
type DecoratorControllerSpec struct {
	// resources lists the types of the target objects and which of them are decorated, for example [{apiVersion: apps/v1,
	// resource: statefulsets, annotationSelector: {matchExpressions: [{key: service-per-pod, operator: Exists}]}}].
	// +listType=atomic
	Resources []DecoratorControllerResourceRule `json:"resources"`

	// attachments lists every type of object the sync hook may return. Objects of these types that this controller
	// attached to the target are sent to the hook in "attachments", and deleted when the hook no longer returns them.
	// Changes of an attachment lead to a sync of its target. The order has no meaning; name each type once. For example
	// [{apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}].
	// Default: empty, which is for a controller that only sets labels, annotations or status.
	// +listType=atomic
	// +optional
	Attachments []DecoratorControllerAttachmentRule `json:"attachments,omitzero"`

	// hooks decide. Required: a sync hook with a webhook or inline, or a finalize hook for a controller that handles only
	// deletion. For example {sync: {webhook: {url: "http://my-hooks.my-namespace/sync"}}}.
	// +optional
	Hooks *DecoratorControllerHooks `json:"hooks,omitempty"`

	// endpointConfigs holds TLS and authentication settings by webhook host, so that they need not be repeated in every
	// hook. The first entry whose host matches the host of a webhook's URL is used, and only if that webhook itself sets
	// none of caBundle, clientTLS, authorization and basicAuth. An entry that no hook uses has no effect.
	// Default: empty, every webhook is called with its own settings only.
	// +listType=atomic
	// +optional
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitzero"`

	// resyncPeriodSeconds is the number of seconds after which every target is synced again even if nothing changed. It is
	// for hooks that depend on things outside the cluster. For example 300 for every five minutes. Values below 1 count
	// as 1. A hook can ask for a single sync of a single target with "resyncAfterSeconds" in its answer instead.
	// Default: absent, no periodic sync.
	// +optional
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// resyncOn lists objects that the answers of the hooks depend on, such as the Deployment that serves them:
	// [{apiVersion: apps/v1, resource: deployments, namespace: hooks, name: my-hook}]. When the rollout of a Deployment,
	// StatefulSet or DaemonSet has finished, or the content of another object has changed, every target is synced again,
	// one after the other. A user who creates or changes the controller needs the right to get, list and watch each of
	// them. At most 16.
	// Default: empty, targets are synced when they, or what belongs to them, change.
	// +listType=atomic
	// +optional
	ResyncOn []WatchedObject `json:"resyncOn,omitzero"`

	// paused stops the controller: it calls no hook, and writes neither targets nor attachments. The condition Paused in
	// the status says since when. Targets that are being deleted and have the controller's finalizer wait. When paused is
	// unset, every target is synced. A single target is paused by its annotation metacontroller.k8s.io/paused: "true".
	// Default: false.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	Access `json:",inline"`
}

// DecoratorControllerResourceRule names a type of target objects and which of them are decorated. An object must match
// both selectors. When an object stops matching, its finalize hook is called; without a finalize hook, it keeps its
// attachments.
type DecoratorControllerResourceRule struct {
	ResourceRule `json:",inline"`

	// labelSelector restricts the controller to the objects whose labels match. For example {matchLabels: {app: web}} or
	// {matchExpressions: [{key: tier, operator: In, values: [front, back]}]}.
	// Default: absent, all objects of the type.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// annotationSelector restricts the controller to the objects whose annotations match, for example
	// {matchAnnotations: {example.com/backup: "yes"}}.
	// Default: absent, all objects of the type.
	// +optional
	AnnotationSelector *AnnotationSelector `json:"annotationSelector,omitempty"`

	// ignoreStatusChanges ignores updates of a target that leave its generation, labels and annotations as they were. It
	// saves hook calls when other programs write the target's status, finalizers or owner references.
	// Default: false, every update of a target leads to a sync.
	// +optional
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// AnnotationSelector selects objects by their annotations, as a label selector does by labels. All of matchAnnotations
// and matchExpressions must hold.
type AnnotationSelector struct {
	// matchAnnotations are annotations the object must have, with these values, which may be any text.
	// Default: empty, none.
	// +optional
	MatchAnnotations map[string]string `json:"matchAnnotations,omitzero"`

	// matchExpressions are conditions on annotations: key, operator (In, NotIn, Exists or DoesNotExist) and, for
	// In and NotIn, values, which may be any text. For example [{key: example.com/backup, operator: Exists}].
	// Default: empty, none.
	// +listType=atomic
	// +optional
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitzero"`
}

// DecoratorControllerAttachmentRule names a type of attachments and how they are updated.
type DecoratorControllerAttachmentRule struct {
	ResourceRule `json:",inline"`

	// updateStrategy says what happens to an existing attachment that differs from what the hook returned, for example
	// {method: InPlace}.
	// Default: absent, which is the method OnDelete: nothing happens to it.
	// +optional
	UpdateStrategy *DecoratorControllerAttachmentUpdateStrategy `json:"updateStrategy,omitempty"`
}

// DecoratorControllerAttachmentUpdateStrategy says how existing attachments of a type are brought up to date.
type DecoratorControllerAttachmentUpdateStrategy struct {
	// method is how an attachment that differs from what the hook returned is brought up to date. A DecoratorController
	// has no rollouts: RollingRecreate and RollingInPlace are accepted, and act exactly like Recreate and InPlace.
	// Default: OnDelete.
	// +optional
	Method *ChildUpdateMethod `json:"method,omitempty"`
}

// DecoratorControllerHooks are the hooks of a DecoratorController: webhooks, or inline.
type DecoratorControllerHooks struct {
	// customize returns which related objects the other hooks need besides the target and its attachments. These objects
	// are sent to the other hooks in "related", and a change of one leads to a sync of the target.
	// Default: absent, no other objects.
	// +optional
	Customize *Hook `json:"customize,omitempty"`

	// sync receives the target and its attachments, and returns the desired attachments, and labels, annotations and
	// status for the target. It is called whenever the target, one of its attachments or a related object changes. It must
	// be idempotent and should be quick.
	// Default: absent, only deletion is handled, by the finalize hook.
	// +optional
	Sync *Hook `json:"sync,omitempty"`

	// finalize is called instead of sync when the target is being deleted or no longer selected, until it answers
	// "finalized": true; it cleans up in order, or outside the cluster. When it is set, every target gets a finalizer. It
	// needs a webhook or inline, and metadata.name may have at most 43 characters. It is often the same webhook as sync.
	// Default: absent, a target is deleted at once, and its attachments by the cluster's garbage collector.
	// +optional
	Finalize *Hook `json:"finalize,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DecoratorControllerList is a list of DecoratorControllers.
type DecoratorControllerList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the DecoratorControllers.
	Items []DecoratorController `json:"items"`
}
