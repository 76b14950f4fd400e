// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CompositeController makes a controller out of a webhook. For each object of the parent type, the server sends the
// parent and its children to the webhook, which returns the desired children and the status of the parent. The server
// creates missing children, updates those that differ according to their update strategy, and deletes those that the
// webhook does not return.
type CompositeController struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is part of objects in users' clusters (the finalizer on parents is
	// "metacontroller.io/compositecontroller-<name>"), so a controller with another name is another controller.
	metav1.ObjectMeta `json:"metadata"`

	// spec defines the parents, their children, and the webhooks.
	Spec CompositeControllerSpec `json:"spec"`

	// status is the last observed state of the running controller. Only the server writes it.
	// +optional
	Status ControllerStatus `json:"status,omitempty,omitzero"`
}

// ParentTypes returns the types of the objects that the controller is for, each once.
func (c *CompositeController) ParentTypes() []ResourceRule {
	return []ResourceRule{c.Spec.ParentResource.ResourceRule}
}

// ChildTypes returns the types of the objects that the controller manages.
func (c *CompositeController) ChildTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range c.Spec.ChildResources {
		types = append(types, rule.ResourceRule)
	}
	return types
}

// GetSpec returns the spec, which must not be changed.
func (c *CompositeController) GetSpec() any { return &c.Spec }

// GetAccess returns the service account of the controller and what it may reach. It must not be changed.
func (c *CompositeController) GetAccess() *Access { return &c.Spec.Access }

// GetStatus returns the status, which may be changed.
func (c *CompositeController) GetStatus() *ControllerStatus { return &c.Status }

// CompositeControllerSpec describes a controller that builds objects (children) for the objects of one type (parents).
type CompositeControllerSpec struct {
	// parentResource is the type of the parents, for example {apiVersion: example.com/v1, resource: catsets}. A custom
	// resource needs the status subresource.
	ParentResource CompositeControllerParentResourceRule `json:"parentResource"`

	// childResources lists, once each, the types that the sync hook may return. The server adopts objects of these
	// types that match the parent's selector, sends them to the hook in "children", and deletes those that the hook has
	// returned and no longer returns. A change of a child causes a sync of its parent. For example [{apiVersion: v1,
	// resource: pods, updateStrategy: {method: Recreate}}].
	// Default: empty, for a controller that only writes the parent's status.
	// +listType=atomic
	// +optional
	ChildResources []CompositeControllerChildResourceRule `json:"childResources,omitzero"`

	// hooks are webhooks or inline. Required: a sync hook with a webhook or inline, or a finalize hook for a controller
	// that handles only deletion. For example {sync: {webhook: {url: "http://my-hooks.my-namespace/sync"}}}.
	// +optional
	Hooks *CompositeControllerHooks `json:"hooks,omitempty"`

	// endpointConfigs holds TLS and authentication settings by host, for all hooks. A webhook that sets none of
	// caBundle, clientTLS, authorization and basicAuth uses the first entry whose host matches the host of its URL.
	// Default: empty, every webhook has only its own settings.
	// +listType=atomic
	// +optional
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitzero"`

	// resyncPeriodSeconds is the interval at which the server syncs every parent even if nothing changed, for hooks
	// that depend on things outside the cluster. For example, 300 means every five minutes. Values below 1 count as 1.
	// To have one parent synced once, a hook returns "resyncAfterSeconds".
	// Default: absent, no periodic sync.
	// +optional
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// generateSelector selects children by a label that the server generates for each parent ("controller-uid" with the
	// parent's UID) and adds to each child, as Jobs do. Parents then need no "spec.selector", and labels that the hook
	// forgets cannot orphan children. Use it unless users of the parent type must choose the selector.
	// Default: false, every parent has a label selector in "spec.selector" that all its children match.
	// +optional
	GenerateSelector *bool `json:"generateSelector,omitempty"`

	// resyncOn lists objects that the answers of the hooks depend on, such as the Deployment that serves them:
	// [{apiVersion: apps/v1, resource: deployments, namespace: hooks, name: my-hook}]. The server syncs every parent
	// again, one after the other, when the rollout of a listed Deployment, StatefulSet or DaemonSet has finished, or
	// the content of another listed object has changed. The author of the controller needs the right to get, list and
	// watch each object. At most 16.
	// Default: empty.
	// +listType=atomic
	// +optional
	ResyncOn []WatchedObject `json:"resyncOn,omitzero"`

	// paused stops the controller: the server calls no hook and writes neither parents nor children. Parents that are
	// being deleted and have the controller's finalizer wait. After the pause, the server syncs every parent. To pause
	// a single parent, annotate it with metacontroller.k8s.io/paused: "true".
	// Default: false.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	Access `json:",inline"`
}

// CompositeControllerParentResourceRule selects the parents.
type CompositeControllerParentResourceRule struct {
	ResourceRule `json:",inline"`

	// revisionHistory defines which fields of the parent start a rollout when they change. It matters only if a child
	// type has the update method RollingRecreate or RollingInPlace.
	// Default: absent, any field of the parent's spec.
	// +optional
	RevisionHistory *CompositeControllerRevisionHistory `json:"revisionHistory,omitempty"`

	// labelSelector selects parents by their labels. When a parent stops matching, the server calls its finalize hook;
	// without a finalize hook, the parent and its children stay as they are. For example {matchLabels: {app: web}} or
	// {matchExpressions: [{key: tier, operator: In, values: [front, back]}]}.
	// Default: absent, all objects of the type.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// ignoreStatusChanges ignores updates of a parent that do not change its generation, labels or annotations. It
	// saves hook calls when other programs write the parent's status, finalizers or owner references.
	// Default: false, every update of a parent causes a sync.
	// +optional
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// CompositeControllerRevisionHistory defines what a ControllerRevision records of a parent.
type CompositeControllerRevisionHistory struct {
	// fieldPaths are the fields of the parent whose changes are rolled out child by child, as names separated by dots,
	// for example ["spec.template", "spec.image"]. A path cannot lead into a list, nor to a label or annotation with a
	// dot in its name. Changes of other fields reach all children at once.
	// Default: ["spec"].
	// +listType=atomic
	// +optional
	FieldPaths []string `json:"fieldPaths,omitzero"`
}

// CompositeControllerChildResourceRule names a type of children and how the server updates them.
type CompositeControllerChildResourceRule struct {
	ResourceRule `json:",inline"`

	// updateStrategy defines how the server updates an existing child that differs from what the hook returned, for
	// example {method: InPlace}.
	// Default: absent, which is the method OnDelete.
	// +optional
	UpdateStrategy *CompositeControllerChildUpdateStrategy `json:"updateStrategy,omitempty"`
}

// CompositeControllerChildUpdateStrategy defines how the server updates children of a type.
type CompositeControllerChildUpdateStrategy struct {
	// method defines how the server updates a child that differs from what the hook returned. The rolling methods
	// update one child at a time, and the next one when the previous one passes the statusChecks. Use Recreate for
	// types with mostly immutable fields, such as pods, and InPlace for most others.
	// Default: OnDelete.
	// +optional
	Method *ChildUpdateMethod `json:"method,omitempty"`

	// apply defines how the server merges what the hook returned into children. Either way, fields that the hook leaves
	// out keep the values that others gave them, the server removes fields that the hook no longer returns, and it
	// changes no object that belongs to another owner. You can change this field at any time: the server converts
	// existing children, and those with the method OnDelete when they are created again.
	// Default: absent, the value of the server's flag --apply-strategy, which defaults to DynamicApply.
	// +optional
	Apply *ChildApplyStrategy `json:"apply,omitempty"`

	// statusChecks are what a child must show in its status before a rolling update continues with the next one, for
	// example {conditions: [{type: Ready, status: "True"}]}. Other methods ignore it.
	// Default: absent, a child is done when its own controller has completed the change; a Pod, or an object without
	// status, as soon as it is updated.
	// +optional
	StatusChecks *ChildUpdateStatusChecks `json:"statusChecks,omitempty"`

	// maxUnavailable is the number of a parent's children that may be in motion while a rolling update updates children
	// of this type: a number, or a percentage of the parent's children of this type, rounded up. A child is in motion
	// while it is missing, is being deleted, differs from what the hook wants for its version of the parent, or does
	// not pass the statusChecks. The children of all types with a rolling method count together. Other methods ignore
	// it.
	// Default: 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// partition is the number of children of this type, in the order in which the hook returns them, that a rolling
	// update leaves at their version of the parent, even if one is deleted and created again. New children always have
	// the latest version. When the partition is lowered, the update continues. Other methods ignore it.
	// Default: 0, all children move.
	// +optional
	Partition *int32 `json:"partition,omitempty"`
}

// ChildUpdateStatusChecks defines when a rolling update is done with a child.
type ChildUpdateStatusChecks struct {
	// conditions must all be in the child's "status.conditions".
	// Default: empty, nothing is checked.
	// +listType=atomic
	// +optional
	Conditions []StatusConditionCheck `json:"conditions,omitzero"`
}

// StatusConditionCheck requires one condition in "status.conditions" of a child, for example type "Ready" with status
// "True".
type StatusConditionCheck struct {
	// type of the condition, for example "Ready".
	Type string `json:"type"`

	// status the condition must have: "True", "False" or "Unknown", with quotation marks in YAML. Default: absent, any.
	// +optional
	Status *string `json:"status,omitempty"`

	// reason the condition must have, for example "MinimumReplicasAvailable". Default: absent, any.
	// +optional
	Reason *string `json:"reason,omitempty"`
}

// CompositeControllerHooks are the hooks of a CompositeController: webhooks, or inline.
type CompositeControllerHooks struct {
	// customize returns which related objects the other hooks need. The server sends these objects to the other hooks
	// in "related", and syncs the parent when one of them changes.
	// Default: absent, no other objects.
	// +optional
	Customize *Hook `json:"customize,omitempty"`

	// sync receives the parent and its children, and returns the desired children and the parent's status. The server
	// calls it whenever the parent, one of its children or a related object changes. It must be idempotent and should
	// be quick.
	// Default: absent, only deletion is handled, by the finalize hook.
	// +optional
	Sync *Hook `json:"sync,omitempty"`

	// finalize cleans up, in order or outside the cluster: the server calls it instead of sync when the parent is being
	// deleted or no longer selected, until it returns "finalized": true. It puts a finalizer on every parent and on
	// this object: when you delete this object, it stays until the finalizer is removed from all parents. It needs a
	// webhook or inline, often the same as sync, and metadata.name may have at most 43 characters.
	// Default: absent, a parent is deleted at once, and its children by the cluster's garbage collector.
	// +optional
	Finalize *Hook `json:"finalize,omitempty"`

	// preUpdateChild is accepted and stored for compatibility. It is never called. Default: absent.
	// +optional
	PreUpdateChild *Hook `json:"preUpdateChild,omitempty"`

	// postUpdateChild is accepted and stored for compatibility. It is never called. Default: absent.
	// +optional
	PostUpdateChild *Hook `json:"postUpdateChild,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CompositeControllerList is a list of CompositeControllers.
type CompositeControllerList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the CompositeControllers.
	Items []CompositeController `json:"items"`
}
