// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ResourceRule names a resource type of the cluster.
type ResourceRule struct {
	// apiVersion is the group and version, such as "apps/v1", or only the version for the core group, such as "v1".
	APIVersion string `json:"apiVersion"`

	// resource is the plural, lower-case name of the resource, such as "deployments".
	Resource string `json:"resource"`
}

// LabelSelector selects objects by their labels. All of matchLabels and matchExpressions must hold.
// +structType=atomic
type LabelSelector struct {
	// matchLabels are the labels, with their values, that the object must have.
	// Default: empty, none.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitzero"`

	// matchExpressions are conditions on labels: key, operator (In, NotIn, Exists or DoesNotExist) and, for In and NotIn,
	// values. For example [{key: tier, operator: In, values: [front, back]}].
	// Default: empty, none.
	// +listType=atomic
	// +optional
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitzero"`
}

// LabelSelectorRequirement is a condition on one label or annotation.
type LabelSelectorRequirement struct {
	// key is the name of the label or annotation.
	Key string `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are what In and NotIn compare with; Exists and DoesNotExist have none.
	// Default: empty.
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitzero"`
}

// Meta returns the selector as the LabelSelector of Kubernetes, which does not keep empty fields as they were written.
// The selector may be nil.
func (s *LabelSelector) Meta() *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	selector := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, expression := range s.MatchExpressions {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement(expression))
	}
	return selector
}

// ChildUpdateMethod is a way to bring an existing child or attachment up to date.
// +enum
type ChildUpdateMethod string

const (
	// ChildUpdateOnDelete does not change a child that differs. When someone deletes the child, the server creates the
	// new version.
	ChildUpdateOnDelete ChildUpdateMethod = "OnDelete"
	// ChildUpdateRecreate deletes a child that differs, and creates it again when it is gone.
	ChildUpdateRecreate ChildUpdateMethod = "Recreate"
	// ChildUpdateInPlace updates a child that differs.
	ChildUpdateInPlace ChildUpdateMethod = "InPlace"
	// ChildUpdateRollingRecreate acts like Recreate on one child of a parent at a time.
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	// ChildUpdateRollingInPlace acts like InPlace on one child of a parent at a time.
	ChildUpdateRollingInPlace ChildUpdateMethod = "RollingInPlace"
)

// ChildUpdateMethods returns all update methods. A new method needs a constant, a place here, and, if it rolls, a case
// in OfOneChild. What a method does to one child is in package plan (updatestrategy.go).
func ChildUpdateMethods() []ChildUpdateMethod {
	return []ChildUpdateMethod{ChildUpdateOnDelete, ChildUpdateRecreate, ChildUpdateInPlace, ChildUpdateRollingRecreate,
		ChildUpdateRollingInPlace}
}

// OfOneChild returns the method by which a rolling method updates the child whose turn it is. It returns any other
// method unchanged.
func (m ChildUpdateMethod) OfOneChild() ChildUpdateMethod {
	switch m {
	case ChildUpdateRollingRecreate:
		return ChildUpdateRecreate
	case ChildUpdateRollingInPlace:
		return ChildUpdateInPlace
	}
	return m
}

// Rolls reports whether the children of a parent are updated one after the other.
func (m ChildUpdateMethod) Rolls() bool { return m.OfOneChild() != m }

// Rolls reports whether the method rolls. The strategy may be nil.
func (s *CompositeControllerChildUpdateStrategy) Rolls() bool { return s.GetMethod().Rolls() }

// GetMethod returns the method, or "" if it is not set. The strategy may be nil.
func (s *CompositeControllerChildUpdateStrategy) GetMethod() ChildUpdateMethod {
	if s == nil || s.Method == nil {
		return ""
	}
	return *s.Method
}

// GetApply returns how children are written, or "" if it is not set. The strategy may be nil.
func (s *CompositeControllerChildUpdateStrategy) GetApply() ChildApplyStrategy {
	if s == nil || s.Apply == nil {
		return ""
	}
	return *s.Apply
}

// GetMethod returns the method, or "" if it is not set. The strategy may be nil.
func (s *DecoratorControllerAttachmentUpdateStrategy) GetMethod() ChildUpdateMethod {
	if s == nil || s.Method == nil {
		return ""
	}
	return *s.Method
}

// ChildApplyStrategy is a way to merge the answer of the hook into a child.
// +enum
type ChildApplyStrategy string

const (
	// ChildApplyDynamic merges three versions of a child: the one in the answer, the one in the previous answer, and
	// the existing one. It records the answer in the annotation "metacontroller.k8s.io/last-applied-configuration" of
	// the child.
	ChildApplyDynamic ChildApplyStrategy = "DynamicApply"
	// ChildApplyServerSide lets the cluster merge by server-side apply, and takes over fields that others own. The
	// cluster knows which fields identify the items of a list, and records the fields of the hook in
	// "metadata.managedFields".
	ChildApplyServerSide ChildApplyStrategy = "ServerSideApply"
)

const (
	// DrainFinalizer is the finalizer of every CompositeController and DecoratorController with a finalize hook. It
	// keeps a controller that is being deleted until the server has removed the controller's own finalizer from all
	// objects. Without the controller, these objects could never be deleted.
	DrainFinalizer = GroupName + "/drain"

	// SkipDrainAnnotation with the value "true" on a controller makes the server delete the controller at once. The
	// finalizer of the controller stays on its objects, and someone else has to remove it. The annotation works before
	// and after the deletion.
	SkipDrainAnnotation = GroupName + "/skip-drain"
	// PausedAnnotation with the value "true" on a parent makes all controllers leave the parent alone.
	PausedAnnotation = GroupName + "/paused"
	// HoldAnnotation on the APIService of the group stops all controllers of the server. Its value says why. "false"
	// counts as absent.
	HoldAnnotation = GroupName + "/hold"

	// MovedAnnotation on the APIService of the group is "true" once the objects of Metacontroller's
	// CustomResourceDefinitions have been moved to the server.
	MovedAnnotation = GroupName + "/moved"

	// CompositeFinalizerPrefix and DecoratorFinalizerPrefix, with the name of the controller after
	// them, are the finalizers that controllers put on their parents. They are Metacontroller's, and
	// are stored in users' clusters.
	CompositeFinalizerPrefix = "metacontroller.io/compositecontroller-"
	DecoratorFinalizerPrefix = "metacontroller.io/decoratorcontroller-"
)

// GroupResource returns the type that a rule names, without the version.
func (r ResourceRule) GroupResource() schema.GroupResource {
	group, _, found := strings.Cut(r.APIVersion, "/")
	if !found {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: r.Resource}
}

// WatchedObject names an object of the cluster.
type WatchedObject struct {
	ResourceRule `json:",inline"`

	// namespace is the namespace of the object.
	// Default: absent, for a cluster-scoped object.
	// +optional
	Namespace *string `json:"namespace,omitempty"`

	// name is the name of the object.
	Name string `json:"name"`
}

// Access defines the ServiceAccount that a controller acts as, and limits what the controller may reach.
type Access struct {
	// serviceAccount is the ServiceAccount that the controller acts as, for example {namespace: shop, name: websites}.
	// The server writes as that account, and shows hooks only what the account may list and watch. While the account
	// may not read what the controller needs, the controller does not run (Ready is False, reason Forbidden). The
	// author of the controller needs the right to impersonate the account, instead of the rights that the controller
	// uses.
	// Default: absent, the controller acts as the server, and its author needs every right that the controller uses.
	// +optional
	ServiceAccount *ServiceAccountReference `json:"serviceAccount,omitempty"`

	// namespaces limits the controller to parents, children and related objects in these namespaces, for example [shop,
	// shop-test]. The controller then needs rights only there. All its types must be namespaced. When you remove a
	// namespace from the list, the server removes the controller's finalizer from the parents there, and changes
	// nothing else.
	// Default: empty, all namespaces and cluster-scoped objects.
	// +listType=atomic
	// +optional
	Namespaces []string `json:"namespaces,omitzero"`

	// relatedResources lists the types that the customize hook may select, for example [{apiVersion: v1, resource:
	// nodes}]. If an answer selects another type, the sync of the parent fails.
	// Default: empty, any type; without a serviceAccount, the author of a controller with a customize hook then needs the
	// right to get, list and watch everything.
	// +listType=atomic
	// +optional
	RelatedResources []ResourceRule `json:"relatedResources,omitzero"`
}

// Common holds the fields that the specs of both kinds have in common, except their hooks. What it refers to must not be
// changed.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type Common struct {
	Access              *Access
	EndpointConfigs     []EndpointConfig
	ResyncOn            []WatchedObject
	ResyncPeriodSeconds *int32
	Paused              *bool
}

// Common returns the fields that DecoratorControllers have, too.
func (s *CompositeControllerSpec) Common() Common {
	return Common{&s.Access, s.EndpointConfigs, s.ResyncOn, s.ResyncPeriodSeconds, s.Paused}
}

// Common returns the fields that CompositeControllers have, too.
func (s *DecoratorControllerSpec) Common() Common {
	return Common{&s.Access, s.EndpointConfigs, s.ResyncOn, s.ResyncPeriodSeconds, s.Paused}
}

// ServiceAccountReference names a ServiceAccount of the cluster.
type ServiceAccountReference struct {
	// namespace is the namespace of the ServiceAccount.
	Namespace string `json:"namespace"`

	// name is the name of the ServiceAccount.
	Name string `json:"name"`
}

// Username returns the name of the ServiceAccount as a user of the cluster.
func (r ServiceAccountReference) Username() string {
	return "system:serviceaccount:" + r.Namespace + ":" + r.Name
}
