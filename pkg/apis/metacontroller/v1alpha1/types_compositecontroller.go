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

// CompositeController makes a controller out of a webhook. For each object of one parent type, the server sends the
// parent and its children to the webhook, which returns the desired children and the status of the parent. The server
// creates the children that are missing, updates those that differ as their update strategy says, and deletes those
// that the webhook does not return.
type CompositeController struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name becomes part of objects in users' clusters (the finalizer on parents is
	// "metacontroller.io/compositecontroller-<name>"), so a controller with another name is another controller.
	metav1.ObjectMeta `json:"metadata"`

	// spec says which parents are handled, which children they may have and which webhook decides.
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
	// parentResource is the type of the objects this controller is for, for example {apiVersion: example.com/v1,
	// resource: catsets}. Each of them is handled on its own. If it is a custom resource, it needs the status subresource.
	ParentResource CompositeControllerParentResourceRule `json:"parentResource"`

	// childResources lists every type of object the sync hook may return. Objects of these types that match the parent's
	// selector are adopted, sent to the hook in "children", and deleted when the hook has returned them and no longer
	// does. Changes of a child lead to a sync of its parent. The order has no meaning; name each type once. For example
	// [{apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}].
	// Default: empty, which is for a controller that only keeps the parent's status.
	// +listType=atomic
	// +optional
	ChildResources []CompositeControllerChildResourceRule `json:"childResources,omitzero"`

	// hooks decide. Required: a sync hook with a webhook or inline, or a finalize hook for a controller that handles only
	// deletion. For example {sync: {webhook: {url: "http://my-hooks.my-namespace/sync"}}}.
	// +optional
	Hooks *CompositeControllerHooks `json:"hooks,omitempty"`

	// endpointConfigs holds TLS and authentication settings by webhook host, so that they need not be repeated in every
	// hook. The first entry whose host matches the host of a webhook's URL is used, and only if that webhook itself sets
	// none of caBundle, clientTLS, authorization and basicAuth. An entry that no hook uses has no effect.
	// Default: empty, every webhook is called with its own settings only.
	// +listType=atomic
	// +optional
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitzero"`

	// resyncPeriodSeconds is the number of seconds after which every parent is synced again even if nothing changed. It is
	// for hooks that depend on things outside the cluster. For example, 300 means every five minutes. Values below 1 count
	// as 1. A hook can ask for a single sync of a single parent with "resyncAfterSeconds" in its answer instead.
	// Default: absent, no periodic sync.
	// +optional
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// generateSelector selects children by a label that is generated for each parent ("controller-uid" with the parent's
	// UID) and added to each child, as Jobs do. Parents then need no "spec.selector", and labels that the hook forgets
	// cannot orphan children. Use it unless users of the parent type are to choose the selector.
	// Default: false, every parent has a label selector in "spec.selector" that all its children match.
	// +optional
	GenerateSelector *bool `json:"generateSelector,omitempty"`

	// resyncOn lists objects that the answers of the hooks depend on, such as the Deployment that serves them:
	// [{apiVersion: apps/v1, resource: deployments, namespace: hooks, name: my-hook}]. When the rollout of a Deployment,
	// StatefulSet or DaemonSet has finished, or the content of another object has changed, every parent is synced again,
	// one after the other. A user who creates or changes the controller needs the right to get, list and watch each of
	// them. At most 16.
	// Default: empty, parents are synced when they, or what belongs to them, change.
	// +listType=atomic
	// +optional
	ResyncOn []WatchedObject `json:"resyncOn,omitzero"`

	// paused stops the controller: it calls no hook, and writes neither parents nor children. The condition Paused in the
	// status says since when. Parents that are being deleted and have the controller's finalizer wait. When paused is
	// unset, every parent is synced. A single parent is paused by its annotation metacontroller.k8s.io/paused: "true".
	// Default: false.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	Access `json:",inline"`
}

// CompositeControllerParentResourceRule names the type of the parents and which of them are handled.
type CompositeControllerParentResourceRule struct {
	ResourceRule `json:",inline"`

	// revisionHistory says which fields of the parent start a rollout when they change. It matters only if a child type
	// has one of the update methods RollingRecreate and RollingInPlace.
	// Default: absent, any field of the parent's spec.
	// +optional
	RevisionHistory *CompositeControllerRevisionHistory `json:"revisionHistory,omitempty"`

	// labelSelector restricts the controller to the parents whose labels match. When a parent stops matching, its finalize
	// hook is called; without a finalize hook, the parent and its children are left alone. For example {matchLabels:
	// {app: web}} or {matchExpressions: [{key: tier, operator: In, values: [front, back]}]}.
	// Default: absent, all objects of the type.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// ignoreStatusChanges ignores updates of a parent that leave its generation, labels and annotations as they were. It
	// saves hook calls when other programs write the parent's status, finalizers or owner references.
	// Default: false, every update of a parent leads to a sync.
	// +optional
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// CompositeControllerRevisionHistory says which part of a parent a ControllerRevision remembers.
type CompositeControllerRevisionHistory struct {
	// fieldPaths are the paths of the parent's fields whose changes are rolled out child by child. A path consists of
	// names separated by dots, for example ["spec.template", "spec.image"]. They cannot lead into a list, nor to a label
	// or annotation with a dot in its name. Changes of other fields reach all children at once.
	// Default: ["spec"].
	// +listType=atomic
	// +optional
	FieldPaths []string `json:"fieldPaths,omitzero"`
}

// CompositeControllerChildResourceRule names a type of children and how they are updated.
type CompositeControllerChildResourceRule struct {
	ResourceRule `json:",inline"`

	// updateStrategy says what happens to an existing child that differs from what the hook returned, for example
	// {method: InPlace}.
	// Default: absent, which is the method OnDelete: nothing happens to it.
	// +optional
	UpdateStrategy *CompositeControllerChildUpdateStrategy `json:"updateStrategy,omitempty"`
}

// CompositeControllerChildUpdateStrategy says how existing children of a type are brought up to date.
type CompositeControllerChildUpdateStrategy struct {
	// method is how a child that differs from what the hook returned is brought up to date. With the rolling methods, one
	// child is updated at a time, and the next one only when the previous one passes the statusChecks. Use Recreate for
	// types that can hardly be changed, such as pods, and InPlace for most others.
	// Default: OnDelete.
	// +optional
	Method *ChildUpdateMethod `json:"method,omitempty"`

	// apply is how the server writes what the hook returned to children. With DynamicApply, the server merges it into a
	// child. With ServerSideApply, the cluster merges it: the cluster knows what identifies the items of every list, and
	// shows in "metadata.managedFields" which fields the hook owns. Either way, fields that the hook leaves out keep the
	// values that others gave them, and fields that the hook no longer returns are removed. An object that has the name of
	// a child but belongs to another owner is left alone. This field can be changed at any time: existing children are
	// converted as they are, and those with the method OnDelete when they are created again.
	// Default: absent, the value of the server's flag --apply-strategy, which defaults to DynamicApply.
	// +optional
	Apply *ChildApplyStrategy `json:"apply,omitempty"`

	// statusChecks are what a child must show in its status before a rolling update continues with the next one, for
	// instance {conditions: [{type: Ready, status: "True"}]}. Other methods ignore it.
	// Default: absent, a child is done when its own controller has completed the change; a Pod, or an object without
	// status, as soon as it is updated.
	// +optional
	StatusChecks *ChildUpdateStatusChecks `json:"statusChecks,omitempty"`

	// maxUnavailable is how many children of a parent may be in motion while a rolling update updates children of this
	// type: a number, or a percentage of the parent's children of this type, rounded up. A child is in motion while it is
	// missing, is being deleted, differs from what the hook wants for its version of the parent, or does not pass the
	// statusChecks. The children of all types with a rolling method are counted together. Other methods ignore it.
	// Default: 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// partition is how many children of this type, in the order in which the hook returns them, a rolling update leaves at
	// their version of the parent, even if one is deleted and created again. New children always have the latest version.
	// When the partition is lowered, the update continues. Other methods ignore it.
	// Default: 0, all children move.
	// +optional
	Partition *int32 `json:"partition,omitempty"`
}

// ChildUpdateStatusChecks is what a child must show in its status to count as done in a rolling update.
type ChildUpdateStatusChecks struct {
	// conditions must all be found in the child's "status.conditions".
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
	// customize returns which related objects the other hooks need besides the parent and its children. These objects are
	// sent to the other hooks in "related", and a change of one leads to a sync of the parent.
	// Default: absent, no other objects.
	// +optional
	Customize *Hook `json:"customize,omitempty"`

	// sync receives the parent and its children, and returns the desired children and the parent's status. It is called
	// whenever the parent, one of its children or a related object changes. It must be idempotent and should be quick.
	// Default: absent, only deletion is handled, by the finalize hook.
	// +optional
	Sync *Hook `json:"sync,omitempty"`

	// finalize is called instead of sync when the parent is being deleted or no longer selected, until it answers
	// "finalized": true; it cleans up in order, or outside the cluster. When it is set, every parent gets a finalizer, and
	// so does this object: when this object is deleted, it waits until the finalizer is removed from all parents. It needs
	// a webhook or inline, and metadata.name may have at most 43 characters. It is often the same webhook as sync.
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
