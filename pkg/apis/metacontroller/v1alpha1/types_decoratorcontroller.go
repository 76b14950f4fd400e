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
// object (the target), the server sends the target and its attachments to the webhook, which returns the desired
// attachments, and labels, annotations and a status for the target.
type DecoratorController struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The annotation "metacontroller.k8s.io/decorator-controller" of the attachments contains
	// the name: under another name, the same spec is another controller.
	metav1.ObjectMeta `json:"metadata"`

	// spec defines the targets, their attachments, and the hooks.
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
	// resources lists the types of the targets, and selects objects of each type, for example [{apiVersion: apps/v1,
	// resource: statefulsets, annotationSelector: {matchExpressions: [{key: service-per-pod, operator: Exists}]}}].
	// +listType=atomic
	Resources []DecoratorControllerResourceRule `json:"resources"`

	// attachments lists the types of objects that the sync hook may return, each type once. The server sends the hook,
	// in "attachments", the objects of these types that this controller attached to the target, and deletes an object
	// when the hook no longer returns it. A change of an attachment causes a sync of its target. For example
	// [{apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}].
	// Default: empty, for a controller that only sets labels, annotations or status.
	// +listType=atomic
	// +optional
	Attachments []DecoratorControllerAttachmentRule `json:"attachments,omitzero"`

	// hooks are the functions that the server calls for each target. A hook has either webhook or inline. Required:
	// sync; or finalize, if the controller handles only deletion. For example {sync: {webhook: {url:
	// "http://my-hooks.my-namespace/sync"}}}.
	// +optional
	Hooks *DecoratorControllerHooks `json:"hooks,omitempty"`

	// endpointConfigs holds TLS and authentication settings by host, for all hooks. A webhook that sets none of
	// caBundle, clientTLS, authorization and basicAuth uses the first entry whose host matches the host of its URL.
	// Default: empty, every webhook has only its own settings.
	// +listType=atomic
	// +optional
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitzero"`

	// resyncPeriodSeconds is the interval at which the server syncs every target even if nothing changed, for hooks
	// that depend on things outside the cluster. For example, 300 means every five minutes. Values below 1 count as 1.
	// To request one more sync of a single target, a hook returns "resyncAfterSeconds".
	// Default: absent, no periodic sync.
	// +optional
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// resyncOn lists objects that the answers of the hooks depend on, such as the Deployment that serves them:
	// [{apiVersion: apps/v1, resource: deployments, namespace: hooks, name: my-hook}]. The server syncs every target
	// again, one after the other, when the rollout of a listed Deployment, StatefulSet or DaemonSet has finished, or
	// the content of another listed object has changed. The author of the controller needs the right to get, list and
	// watch each object. At most 16.
	// Default: empty.
	// +listType=atomic
	// +optional
	ResyncOn []WatchedObject `json:"resyncOn,omitzero"`

	// paused stops the controller: the server calls no hook and writes neither targets nor attachments. The deletion of
	// targets with the controller's finalizer waits. After the pause, the server syncs every target. To pause a single
	// target, annotate it with metacontroller.k8s.io/paused: "true".
	// Default: false.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	Access `json:",inline"`
}

// DecoratorControllerResourceRule selects targets of one type. An object must match both selectors. When an object
// stops matching, the server calls the finalize hook for it; without a finalize hook, the object keeps its attachments.
type DecoratorControllerResourceRule struct {
	ResourceRule `json:",inline"`

	// labelSelector selects targets by their labels. For example {matchLabels: {app: web}} or {matchExpressions: [{key:
	// tier, operator: In, values: [front, back]}]}.
	// Default: absent, all objects of the type.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// annotationSelector selects targets by their annotations, for example {matchAnnotations: {example.com/backup:
	// "yes"}}.
	// Default: absent, all objects of the type.
	// +optional
	AnnotationSelector *AnnotationSelector `json:"annotationSelector,omitempty"`

	// ignoreStatusChanges ignores updates of a target that do not change its generation, labels or annotations. It
	// saves hook calls when other programs write the target's status, finalizers or owner references.
	// Default: false, every update of a target causes a sync.
	// +optional
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// AnnotationSelector selects objects by their annotations. All of matchAnnotations and matchExpressions must hold.
type AnnotationSelector struct {
	// matchAnnotations are the annotations, with their values, that the object must have. A value may be any text.
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

// DecoratorControllerAttachmentRule names a type of attachments and how the server updates them.
type DecoratorControllerAttachmentRule struct {
	ResourceRule `json:",inline"`

	// updateStrategy defines how the server updates an existing attachment that differs from what the hook returned,
	// for example {method: InPlace}.
	// Default: absent, the method OnDelete.
	// +optional
	UpdateStrategy *DecoratorControllerAttachmentUpdateStrategy `json:"updateStrategy,omitempty"`
}

// DecoratorControllerAttachmentUpdateStrategy defines how the server updates attachments of a type.
type DecoratorControllerAttachmentUpdateStrategy struct {
	// method defines how the server updates an attachment that differs from what the hook returned. A
	// DecoratorController has no rollouts: the rolling methods update all attachments at once.
	// Default: OnDelete.
	// +optional
	Method *ChildUpdateMethod `json:"method,omitempty"`
}

// DecoratorControllerHooks are the hooks of a DecoratorController: webhooks, or inline.
type DecoratorControllerHooks struct {
	// customize selects the related objects that the other hooks need. The server sends these objects to the other
	// hooks in "related", and syncs the target when one of them changes.
	// Default: absent, no other objects.
	// +optional
	Customize *Hook `json:"customize,omitempty"`

	// sync receives the target and its attachments, and returns the desired attachments, and labels, annotations and
	// status for the target. The server calls it whenever the target, one of its attachments or a related object
	// changes. It must be idempotent and should be quick.
	// Default: absent, the controller handles only deletion, by the finalize hook.
	// +optional
	Sync *Hook `json:"sync,omitempty"`

	// finalize deletes attachments in order, or cleans up outside the cluster. The server calls it instead of sync when
	// the target is being deleted or no longer selected, until it returns "finalized": true. The server puts a
	// finalizer on every target and on this object: when you delete this object, it stays until no target has the
	// finalizer. With a finalize hook, metadata.name may have at most 43 characters.
	// Default: absent, the cluster deletes a target at once, and its garbage collector deletes the attachments.
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
