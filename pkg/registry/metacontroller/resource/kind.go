// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Object is an API object of Go type *T.
type Object[T any] interface {
	*T
	runtime.Object
	metav1.Object
	DeepCopyInto(*T)
}

// Kind holds what is particular to a kind. Functions that may be nil are marked optional.
type Kind[T any, O Object[T]] struct {
	// Resource is the plural name, such as "compositecontrollers", and Singular the singular one.
	Resource, Singular string
	// ShortNames are further names for use with kubectl.
	ShortNames []string
	// Namespaced is true if the objects are in namespaces.
	Namespaced bool
	// Version is the version whose field names ContentFields are.
	Version schema.GroupVersion

	// NewList returns an empty list.
	NewList func() runtime.Object

	// ContentFields are the top-level fields that are neither metadata nor status.
	ContentFields []string
	// Content returns the values of these fields. A change of them raises the generation.
	Content func(O) any
	// Normalize brings the content into the form that is stored, so that equal contents are equal
	// in bytes. Optional.
	Normalize func(O)
	// Status returns the status of an object. Optional: without it, the status subresource is
	// served and changes nothing.
	Status func(O) *v1alpha1.ControllerStatus

	// Validate returns the errors of a new object. It is not stored if there are any.
	Validate func(O) field.ErrorList
	// ValidateUpdate returns the errors of an update of the main resource.
	ValidateUpdate func(updated, stored O) field.ErrorList
	// ValidateStatusUpdate returns the errors of a new status. Required with Status.
	ValidateStatusUpdate func(updated, stored *v1alpha1.ControllerStatus) field.ErrorList
	// Warnings returns what is likely a mistake in a valid object. Optional.
	Warnings func(O) []string

	// Table makes the tables that kubectl get prints.
	Table rest.TableConvertor
}
