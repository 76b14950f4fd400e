// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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

// Strategy is the strategy of writes to the main resource of a kind.
type Strategy[T any, O Object[T]] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind Kind[T, O]
}

var (
	_ rest.RESTCreateStrategy  = Strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
	_ rest.RESTUpdateStrategy  = Strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
	_ rest.RESTDeleteStrategy  = Strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
	_ rest.ResetFieldsStrategy = Strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
)

// NewStrategy returns the strategy for a kind. typer maps its objects to their Go types.
func NewStrategy[T any, O Object[T]](kind Kind[T, O], typer runtime.ObjectTyper) Strategy[T, O] {
	return Strategy[T, O]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped reports whether the objects are in namespaces.
func (s Strategy[T, O]) NamespaceScoped() bool {
	return s.kind.Namespaced
}

// AllowCreateOnUpdate is false: the response to a PUT of an object that does not exist is 404.
func (s Strategy[T, O]) AllowCreateOnUpdate(context.Context) bool {
	return false
}

// AllowUnconditionalUpdate is false: a PUT must have the resourceVersion that it replaces.
func (s Strategy[T, O]) AllowUnconditionalUpdate(context.Context) bool {
	return false
}

// PrepareForCreate starts the generation at 1, and replaces the status by that of an object that no server has read.
func (s Strategy[T, O]) PrepareForCreate(_ context.Context, obj runtime.Object) {
	created := obj.(O)
	if s.kind.Status != nil {
		*s.kind.Status(created) = v1alpha1.NewStatus()
	}
	s.normalize(created)
	created.SetGeneration(1)
}

// PrepareForUpdate keeps the stored status, and raises the generation if the content changed.
func (s Strategy[T, O]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(O), old.(O)
	if s.kind.Status != nil {
		s.kind.Status(stored).DeepCopyInto(s.kind.Status(updated))
	}
	s.normalize(updated)
	if s.contentDiffers(updated, stored) {
		updated.SetGeneration(stored.GetGeneration() + 1)
	}
}

// Validate returns the errors of a new object.
func (s Strategy[T, O]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.kind.Validate(obj.(O))
}

// ValidateUpdate returns the errors of an update.
func (s Strategy[T, O]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.kind.ValidateUpdate(obj.(O), old.(O))
}

// WarningsOnCreate returns warnings about likely mistakes in a new object.
func (s Strategy[T, O]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return s.warnings(obj.(O))
}

// WarningsOnUpdate returns warnings if the content has changed. A user who only labels an object
// gets none.
func (s Strategy[T, O]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if !s.contentDiffers(obj.(O), old.(O)) {
		return nil
	}
	return s.warnings(obj.(O))
}

// Canonicalize does nothing: objects are in their stored form before they are validated.
func (s Strategy[T, O]) Canonicalize(runtime.Object) {}

// GetResetFields returns the fields that a server-side apply to the main resource cannot own.
func (s Strategy[T, O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.kind.Status == nil {
		return nil
	}
	return s.reset("status")
}

func (s Strategy[T, O]) normalize(object O) {
	if s.kind.Normalize != nil {
		s.kind.Normalize(object)
	}
}

func (s Strategy[T, O]) contentDiffers(a, b O) bool {
	return !apiequality.Semantic.DeepEqual(s.kind.Content(a), s.kind.Content(b))
}

func (s Strategy[T, O]) warnings(object O) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(object)
}

func (s Strategy[T, O]) reset(fields ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range fields {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.kind.Version.String()): set}
}

// StatusStrategy is the strategy of writes to the status subresource of a kind.
type StatusStrategy[T any, O Object[T]] struct {
	Strategy[T, O]
}

// NewStatusStrategy returns the strategy of the status subresource of a kind.
func NewStatusStrategy[T any, O Object[T]](main Strategy[T, O]) StatusStrategy[T, O] {
	return StatusStrategy[T, O]{main}
}

// PrepareForUpdate takes the status and managedFields of the update, and everything else of the
// stored object.
func (s StatusStrategy[T, O]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(O), old.(O)
	managedFields := updated.GetManagedFields()
	if s.kind.Status == nil {
		stored.DeepCopyInto(updated)
	} else {
		status := *s.kind.Status(updated)
		stored.DeepCopyInto(updated)
		*s.kind.Status(updated) = status
	}
	updated.SetManagedFields(managedFields)
}

// ValidateUpdate returns the errors of a new status.
func (s StatusStrategy[T, O]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if s.kind.Status == nil {
		return nil
	}
	return s.kind.ValidateStatusUpdate(s.kind.Status(obj.(O)), s.kind.Status(old.(O)))
}

// WarningsOnUpdate returns none: a client that writes a status did not write the spec.
func (s StatusStrategy[T, O]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields returns the fields that a server-side apply to the status subresource cannot own.
func (s StatusStrategy[T, O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.reset(append([]string{"metadata"}, s.kind.ContentFields...)...)
}
