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

// CompositeController turns a webhook into a controller. For each object of the parent type, the server sends the
// object (the parent) and its children to the webhook, which returns the desired children and the status of the parent.
// The server creates missing children, deletes children that the webhook does not return, and updates the others by the
// update strategy of their type.
type CompositeController struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The finalizer of the parents contains the name
	// ("metacontroller.io/compositecontroller-<name>"): under another name, the same spec is another controller.
	metav1.ObjectMeta `json:"metadata"`

	// spec defines the parents, their children, and the hooks.
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

// CompositeControllerSpec describes a controller that creates objects (children) for the objects of one type (parents).
type CompositeControllerSpec struct {
	// parentResource is the type of the parents, for example {apiVersion: example.com/v1, resource: catsets}. The
	// CustomResourceDefinition of a custom resource must enable the status subresource.
	ParentResource CompositeControllerParentResourceRule `json:"parentResource"`

	// childResources lists the types of objects that the sync hook may return, each type once. The server adopts
	// objects of these types that match the parent's selector, sends them to the hook in "children", and deletes an
	// object when the hook no longer returns it. A change of a child causes a sync of its parent. For example
	// [{apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}].
	// Default: empty, for a controller that only writes the parent's status.
	// +listType=atomic
	// +optional
	ChildResources []CompositeControllerChildResourceRule `json:"childResources,omitzero"`

	// hooks are the functions that the server calls for each parent. A hook has either webhook or inline. Required:
	// sync; or finalize, if the controller handles only deletion. For example {sync: {webhook: {url:
	// "http://my-hooks.my-namespace/sync"}}}.
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
	// To request one more sync of a single parent, a hook returns "resyncAfterSeconds".
	// Default: absent, no periodic sync.
	// +optional
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// generateSelector selects children by a label that the server generates for each parent, "controller-uid" with the
	// parent's UID, and adds to each child, as Jobs do. Parents then need no "spec.selector", and a hook that forgets a
	// label cannot orphan children. Use it unless users of the parent type must choose the selector.
	// Default: false, every parent must have a label selector in "spec.selector", which all its children match.
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

	// paused stops the controller: the server calls no hook and writes neither parents nor children. The deletion of
	// parents with the controller's finalizer waits. After the pause, the server syncs every parent. To pause a single
	// parent, annotate it with metacontroller.k8s.io/paused: "true".
	// Default: false.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	Access `json:",inline"`
}

// CompositeControllerParentResourceRule selects the parents.
type CompositeControllerParentResourceRule struct {
	ResourceRule `json:",inline"`

	// revisionHistory defines which fields of the parent start a rollout when they change. It matters only if a child
	// type has a rolling update method.
	// Default: absent, any field of the parent's spec.
	// +optional
	RevisionHistory *CompositeControllerRevisionHistory `json:"revisionHistory,omitempty"`

	// labelSelector selects parents by their labels. When a parent stops matching, the server calls the finalize hook
	// for it; without a finalize hook, the parent and its children stay as they are. For example {matchLabels: {app:
	// web}} or {matchExpressions: [{key: tier, operator: In, values: [front, back]}]}.
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
	// fieldPaths are the fields of the parent whose changes the server rolls out child by child, as names separated by
	// dots, for example ["spec.template", "spec.image"]. A path cannot lead into a list, nor to a label or annotation
	// with a dot in its name. Changes of other fields reach all children at once.
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
	// Default: absent, the method OnDelete.
	// +optional
	UpdateStrategy *CompositeControllerChildUpdateStrategy `json:"updateStrategy,omitempty"`
}

// CompositeControllerChildUpdateStrategy defines how the server updates children of a type.
type CompositeControllerChildUpdateStrategy struct {
	// method defines how the server updates a child that differs from what the hook returned. The rolling methods
	// update one child at a time, and continue when it passes the statusChecks. Use Recreate for types with mostly
	// immutable fields, such as pods, and InPlace for most others.
	// Default: OnDelete.
	// +optional
	Method *ChildUpdateMethod `json:"method,omitempty"`

	// apply defines how the server merges the answer of the hook into children. Either way, fields that the hook never
	// returned keep the values that others gave them, the server removes fields that the hook no longer returns, and it
	// changes no object that belongs to another owner. You can change apply at any time: the server converts existing
	// children. It converts children with the method OnDelete only when it creates them again.
	// Default: absent, the value of the server's flag --apply-strategy, which defaults to DynamicApply.
	// +optional
	Apply *ChildApplyStrategy `json:"apply,omitempty"`

	// statusChecks are the conditions that a child must have before a rolling update continues with the next one, for
	// example {conditions: [{type: Ready, status: "True"}]}. The child's own controller must also have completed the
	// change, except for a Pod, Job, PersistentVolumeClaim or an object without any sign of a controller. Other methods
	// ignore the checks.
	// Default: absent, no conditions.
	// +optional
	StatusChecks *ChildUpdateStatusChecks `json:"statusChecks,omitempty"`

	// maxUnavailable is the maximum number of a parent's children in motion while a rolling update updates children of
	// this type: a number, or a percentage of the parent's children of this type, rounded up. A child is in motion
	// while it is missing, is being deleted, differs from what the hook wants for its version of the parent, or does
	// not pass the statusChecks. The children of all types with a rolling method count together. Other methods ignore
	// it.
	// Default: 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// partition is the number of children of this type that a rolling update leaves at their version of the parent: the
	// first ones in the order in which the hook returns them. If you delete one of them, the server creates it again at
	// its version. New children always have the latest version. When you lower the partition, the update continues.
	// Other methods ignore it.
	// Default: 0, all children get the latest version.
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
	// customize selects the related objects that the other hooks need. The server sends these objects to the other
	// hooks in "related", and syncs the parent when one of them changes.
	// Default: absent, no other objects.
	// +optional
	Customize *Hook `json:"customize,omitempty"`

	// sync receives the parent and its children, and returns the desired children and the parent's status. The server
	// calls it whenever the parent, one of its children or a related object changes. It must be idempotent and should
	// be quick.
	// Default: absent, the controller handles only deletion, by the finalize hook.
	// +optional
	Sync *Hook `json:"sync,omitempty"`

	// finalize deletes children in order, or cleans up outside the cluster. The server calls it instead of sync when
	// the parent is being deleted or no longer selected, until it returns "finalized": true. The server puts a
	// finalizer on every parent and on this object: when you delete this object, it stays until no parent has the
	// finalizer. With a finalize hook, metadata.name may have at most 43 characters.
	// Default: absent, the cluster deletes a parent at once, and its garbage collector deletes the children.
	// +optional
	Finalize *Hook `json:"finalize,omitempty"`

	// preUpdateChild is stored for compatibility, and never called. Default: absent.
	// +optional
	PreUpdateChild *Hook `json:"preUpdateChild,omitempty"`

	// postUpdateChild is stored for compatibility, and never called. Default: absent.
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
