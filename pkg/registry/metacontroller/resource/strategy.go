// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

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

// NewStrategy returns the strategy of a kind. typer knows the Go types of its objects.
func NewStrategy[T any, O Object[T]](kind Kind[T, O], typer runtime.ObjectTyper) Strategy[T, O] {
	return Strategy[T, O]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped reports whether the objects are in namespaces.
func (s Strategy[T, O]) NamespaceScoped() bool {
	return s.kind.Namespaced
}

// AllowCreateOnUpdate is false: a PUT of an object that does not exist is answered with 404.
func (s Strategy[T, O]) AllowCreateOnUpdate(context.Context) bool {
	return false
}

// AllowUnconditionalUpdate is false: a PUT must have the resourceVersion that it replaces.
func (s Strategy[T, O]) AllowUnconditionalUpdate(context.Context) bool {
	return false
}

// PrepareForCreate empties the status and starts the generation at 1.
func (s Strategy[T, O]) PrepareForCreate(_ context.Context, obj runtime.Object) {
	created := obj.(O)
	if s.kind.Status != nil {
		*s.kind.Status(created) = v1alpha1.ControllerStatus{}
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
