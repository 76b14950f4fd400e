// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CompositeController makes a controller out of a webhook: for every object of one parent type, the
// webhook is given the parent and its children, and answers which children there should be and what
// the parent's status is. Children that are missing are created, children that differ are updated
// as their update strategy says, and children that the answer does not name are deleted.
type CompositeController struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   CompositeControllerSpec
	Status ControllerStatus
}

// CompositeControllerSpec describes a controller that builds objects (children) for the objects of
// one type (parents).
type CompositeControllerSpec struct {
	ParentResource      CompositeControllerParentResourceRule
	ChildResources      []CompositeControllerChildResourceRule
	Hooks               *CompositeControllerHooks
	EndpointConfigs     []EndpointConfig
	ResyncPeriodSeconds *int32
	GenerateSelector    *bool
	ResyncOn            []WatchedObject
	Paused              bool
	Access
}

// CompositeControllerParentResourceRule names the type of the parents and which of them are
// handled.
type CompositeControllerParentResourceRule struct {
	ResourceRule
	RevisionHistory     *CompositeControllerRevisionHistory
	LabelSelector       *metav1.LabelSelector
	IgnoreStatusChanges *bool
}

// CompositeControllerRevisionHistory says which part of a parent a ControllerRevision remembers.
type CompositeControllerRevisionHistory struct {
	FieldPaths []string
}

// CompositeControllerChildResourceRule names a type of children and how they are updated.
type CompositeControllerChildResourceRule struct {
	ResourceRule
	UpdateStrategy *CompositeControllerChildUpdateStrategy
}

// CompositeControllerChildUpdateStrategy says how existing children of a type are brought up to
// date.
type CompositeControllerChildUpdateStrategy struct {
	Method         ChildUpdateMethod
	Apply          ChildApplyStrategy
	StatusChecks   *ChildUpdateStatusChecks
	MaxUnavailable *intstr.IntOrString
	Partition      *int32
}

// ChildUpdateStatusChecks is what a child must show in its status to count as done in a rolling
// update.
type ChildUpdateStatusChecks struct {
	Conditions []StatusConditionCheck
}

// StatusConditionCheck asks for one condition in "status.conditions" of a child, for instance type
// "Ready" with status "True".
type StatusConditionCheck struct {
	Type   string
	Status *string
	Reason *string
}

// CompositeControllerHooks are the webhooks of a CompositeController.
type CompositeControllerHooks struct {
	Customize       *Hook
	Sync            *Hook
	Finalize        *Hook
	PreUpdateChild  *Hook
	PostUpdateChild *Hook
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CompositeControllerList is a list of CompositeControllers.
type CompositeControllerList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []CompositeController
}
