// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ValidateControllerStatusUpdate returns the errors of a new status of a CompositeController or
// DecoratorController: those that the stored status does not have.
func ValidateControllerStatusUpdate(updated, stored *v1alpha1.ControllerStatus) field.ErrorList {
	path := field.NewPath("status")
	return introduced(validateControllerStatus(updated, path), validateControllerStatus(stored, path))
}

func validateControllerStatus(status *v1alpha1.ControllerStatus, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))
	errs = append(errs, validateCount(status.ObservedGeneration, path.Child("observedGeneration"))...)
	if parents := status.Parents; parents != nil {
		path := path.Child("parents")
		errs = append(errs, validateCount(int64(parents.Total), path.Child("total"))...)
		errs = append(errs, validateCount(int64(parents.Synced), path.Child("synced"))...)
		errs = append(errs, validateCount(int64(parents.Failing), path.Child("failing"))...)
	}
	return errs
}

func validateCount(count int64, path *field.Path) field.ErrorList {
	if count < 0 {
		return field.ErrorList{field.Invalid(path, count, "must not be negative")}
	}
	return nil
}
