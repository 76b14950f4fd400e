// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// apiObject is an API object of Go type *T.
type apiObject[T any] interface {
	*T
	runtime.Object
	metav1.Object
	DeepCopyInto(*T)
}

// kind has the properties of one kind. Functions that may be nil are marked optional.
type kind[T any, O apiObject[T]] struct {
	// resource is the plural name, such as "compositecontrollers", and singular the singular one.
	resource, singular string
	// shortNames are further names for use with kubectl.
	shortNames []string
	// namespaced is true if the objects are in namespaces.
	namespaced bool

	// newList returns an empty list.
	newList func() runtime.Object

	// contentFields are the top-level fields that are neither metadata nor status.
	contentFields []string
	// content returns the values of these fields. A change of them raises the generation.
	content func(O) any
	// normalize brings the content into the form that is stored, so that equal contents are equal
	// in bytes. Optional.
	normalize func(O)
	// status returns the status of an object. Optional: without it, the status subresource is
	// served and changes nothing.
	status func(O) *v1alpha1.ControllerStatus

	// validate returns the errors of a new object. It is not stored if there are any.
	validate func(O) field.ErrorList
	// validateUpdate returns the errors of an update of the main resource.
	validateUpdate func(updated, stored O) field.ErrorList
	// validateStatusUpdate returns the errors of a new status. Required with status.
	validateStatusUpdate func(updated, stored *v1alpha1.ControllerStatus) field.ErrorList
	// warnings returns what is likely a mistake in a valid object. Optional.
	warnings func(O) []string

	// table makes the tables that kubectl get prints.
	table rest.TableConvertor
}

// strategy is the strategy of writes to the main resource of a kind.
type strategy[T any, O apiObject[T]] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind kind[T, O]
}

var (
	_ rest.RESTCreateStrategy  = strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
	_ rest.RESTUpdateStrategy  = strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
	_ rest.RESTDeleteStrategy  = strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
	_ rest.ResetFieldsStrategy = strategy[v1alpha1.CompositeController, *v1alpha1.CompositeController]{}
)

// newStrategy returns the strategy for a kind. typer maps its objects to their Go types.
func newStrategy[T any, O apiObject[T]](of kind[T, O], typer runtime.ObjectTyper) strategy[T, O] {
	return strategy[T, O]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: of}
}

// NamespaceScoped reports whether the objects are in namespaces.
func (s strategy[T, O]) NamespaceScoped() bool {
	return s.kind.namespaced
}

// AllowCreateOnUpdate is false: the response to a PUT of an object that does not exist is 404.
func (s strategy[T, O]) AllowCreateOnUpdate(context.Context) bool {
	return false
}

// AllowUnconditionalUpdate is false: a PUT must have the resourceVersion that it replaces.
func (s strategy[T, O]) AllowUnconditionalUpdate(context.Context) bool {
	return false
}

// PrepareForCreate starts the generation at 1, and replaces the status with the status of an object that no server has
// read.
func (s strategy[T, O]) PrepareForCreate(_ context.Context, obj runtime.Object) {
	created := obj.(O)
	if s.kind.status != nil {
		*s.kind.status(created) = v1alpha1.NewStatus()
	}
	s.normalize(created)
	created.SetGeneration(1)
}

// PrepareForUpdate keeps the stored status, and raises the generation if the content changed.
func (s strategy[T, O]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(O), old.(O)
	if s.kind.status != nil {
		s.kind.status(stored).DeepCopyInto(s.kind.status(updated))
	}
	s.normalize(updated)
	if s.contentDiffers(updated, stored) {
		updated.SetGeneration(stored.GetGeneration() + 1)
	}
}

// Validate returns the errors of a new object.
func (s strategy[T, O]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.kind.validate(obj.(O))
}

// ValidateUpdate returns the errors of an update.
func (s strategy[T, O]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.kind.validateUpdate(obj.(O), old.(O))
}

// WarningsOnCreate returns warnings about likely mistakes in a new object.
func (s strategy[T, O]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return s.warnings(obj.(O))
}

// WarningsOnUpdate returns warnings if the content has changed. A user who only labels an object
// gets none.
func (s strategy[T, O]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if !s.contentDiffers(obj.(O), old.(O)) {
		return nil
	}
	return s.warnings(obj.(O))
}

// Canonicalize does nothing: objects are in their stored form before they are validated.
func (s strategy[T, O]) Canonicalize(runtime.Object) {}

// GetResetFields returns the fields that a server-side apply to the main resource cannot own.
func (s strategy[T, O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.kind.status == nil {
		return nil
	}
	return s.reset("status")
}

func (s strategy[T, O]) normalize(object O) {
	if s.kind.normalize != nil {
		s.kind.normalize(object)
	}
}

func (s strategy[T, O]) contentDiffers(a, b O) bool {
	return !apiequality.Semantic.DeepEqual(s.kind.content(a), s.kind.content(b))
}

func (s strategy[T, O]) warnings(object O) []string {
	if s.kind.warnings == nil {
		return nil
	}
	return s.kind.warnings(object)
}

func (s strategy[T, O]) reset(fields ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range fields {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): set}
}

// statusStrategy is the strategy of writes to the status subresource of a kind.
type statusStrategy[T any, O apiObject[T]] struct {
	strategy[T, O]
}

// newStatusStrategy returns the strategy of the status subresource of a kind.
func newStatusStrategy[T any, O apiObject[T]](main strategy[T, O]) statusStrategy[T, O] {
	return statusStrategy[T, O]{main}
}

// PrepareForUpdate takes the status and managedFields of the update, and everything else of the
// stored object.
func (s statusStrategy[T, O]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(O), old.(O)
	managedFields := updated.GetManagedFields()
	if s.kind.status == nil {
		stored.DeepCopyInto(updated)
	} else {
		status := *s.kind.status(updated)
		stored.DeepCopyInto(updated)
		*s.kind.status(updated) = status
	}
	updated.SetManagedFields(managedFields)
}

// ValidateUpdate returns the errors of a new status.
func (s statusStrategy[T, O]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if s.kind.status == nil {
		return nil
	}
	return s.kind.validateStatusUpdate(s.kind.status(obj.(O)), s.kind.status(old.(O)))
}

// WarningsOnUpdate returns none: a client that writes a status did not write the spec.
func (s statusStrategy[T, O]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields returns the fields that a server-side apply to the status subresource cannot own.
func (s statusStrategy[T, O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.reset(append([]string{"metadata"}, s.kind.contentFields...)...)
}
