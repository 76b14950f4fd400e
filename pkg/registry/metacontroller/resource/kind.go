// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource makes the REST storage of a kind out of a description of what is particular to the kind. What the kinds
// have in common is here: how metadata, content and status are kept apart on each way to write, when the generation is
// raised, tables, and watches that begin where the storage has not been yet.
//
// Objects behave as those of a CRD do, since that is what their clients know: the main resource cannot touch the status,
// the status subresource cannot touch anything else, an update needs a resourceVersion, and nothing is created by one.
package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// Object is an API object of Go type *T.
type Object[T any] interface {
	*T
	runtime.Object
	metav1.Object
	DeepCopyInto(*T)
}

// Kind says what is particular to a kind. Functions that may be missing are marked optional.
type Kind[T any, O Object[T]] struct {
	// Resource is the plural name, such as "compositecontrollers", and Singular the singular one.
	Resource, Singular string
	// ShortNames are further names for use with kubectl.
	ShortNames []string
	// Namespaced objects live in a namespace, others in the cluster as a whole.
	Namespaced bool
	// Version is the version whose field names ContentFields are.
	Version schema.GroupVersion

	// NewList returns an empty list of the internal type.
	NewList func() runtime.Object

	// ContentFields are the top-level fields that are neither metadata nor status.
	ContentFields []string
	// Content returns what is in these fields. A change of it raises the generation.
	Content func(O) any
	// Normalize brings the content into the form it is stored in, so that equal contents are equal in bytes. Optional.
	Normalize func(O)
	// Status returns the status of an object. Optional: without it, the status subresource is there and changes nothing.
	Status func(O) *metacontroller.ControllerStatus

	// Validate returns all that keeps a new object from being stored.
	Validate func(O) field.ErrorList
	// ValidateUpdate returns all that keeps an update of the main resource from being stored.
	ValidateUpdate func(updated, stored O) field.ErrorList
	// ValidateStatusUpdate returns all that keeps a new status from being stored. Required with Status.
	ValidateStatusUpdate func(updated, stored *metacontroller.ControllerStatus) field.ErrorList
	// Warnings returns what is likely a mistake in a valid object. Optional.
	Warnings func(O) []string

	// Table makes the rows that kubectl get prints.
	Table rest.TableConvertor
}
