// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

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
