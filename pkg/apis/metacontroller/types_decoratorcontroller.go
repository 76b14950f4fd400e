// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DecoratorController adds behaviour to objects that exist already and may have a controller of
// their own: for every selected object, the webhook is given the object and what is attached to it,
// and answers which attachments there should be and which labels, annotations or status to set on
// the object.
type DecoratorController struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   DecoratorControllerSpec
	Status ControllerStatus
}

// DecoratorControllerSpec describes a controller that attaches objects and metadata to objects of
// any types (targets).
type DecoratorControllerSpec struct {
	Resources           []DecoratorControllerResourceRule
	Attachments         []DecoratorControllerAttachmentRule
	Hooks               *DecoratorControllerHooks
	EndpointConfigs     []EndpointConfig
	ResyncPeriodSeconds *int32
	ResyncOn            []WatchedObject
	Paused              bool
	Access
}

// DecoratorControllerResourceRule names a type of target objects and which of them are decorated.
// An object must match both selectors. One that stops matching loses its attachments.
type DecoratorControllerResourceRule struct {
	ResourceRule
	LabelSelector       *metav1.LabelSelector
	AnnotationSelector  *AnnotationSelector
	IgnoreStatusChanges *bool
}

// AnnotationSelector selects objects by their annotations, as a label selector does by labels. All
// of matchAnnotations and matchExpressions must hold.
type AnnotationSelector struct {
	MatchAnnotations map[string]string
	MatchExpressions []metav1.LabelSelectorRequirement
}

// DecoratorControllerAttachmentRule names a type of attachments and how they are updated.
type DecoratorControllerAttachmentRule struct {
	ResourceRule
	UpdateStrategy *DecoratorControllerAttachmentUpdateStrategy
}

// DecoratorControllerAttachmentUpdateStrategy says how existing attachments of a type are brought
// up to date.
type DecoratorControllerAttachmentUpdateStrategy struct {
	Method ChildUpdateMethod
}

// DecoratorControllerHooks are the webhooks of a DecoratorController.
type DecoratorControllerHooks struct {
	Customize *Hook
	Sync      *Hook
	Finalize  *Hook
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DecoratorControllerList is a list of DecoratorControllers.
type DecoratorControllerList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []DecoratorController
}
