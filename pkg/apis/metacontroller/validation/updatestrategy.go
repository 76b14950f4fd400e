// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func validateUpdateMethod(method v1alpha1.ChildUpdateMethod, path *field.Path) field.ErrorList {
	switch method {
	case "",
		v1alpha1.ChildUpdateOnDelete,
		v1alpha1.ChildUpdateRecreate,
		v1alpha1.ChildUpdateInPlace,
		v1alpha1.ChildUpdateRollingRecreate,
		v1alpha1.ChildUpdateRollingInPlace:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, method, []v1alpha1.ChildUpdateMethod{
		v1alpha1.ChildUpdateOnDelete,
		v1alpha1.ChildUpdateRecreate,
		v1alpha1.ChildUpdateInPlace,
		v1alpha1.ChildUpdateRollingRecreate,
		v1alpha1.ChildUpdateRollingInPlace,
	})}
}

func validateApplyStrategy(strategy v1alpha1.ChildApplyStrategy, path *field.Path) field.ErrorList {
	switch strategy {
	case "", v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, strategy, []v1alpha1.ChildApplyStrategy{
		v1alpha1.ChildApplyDynamic,
		v1alpha1.ChildApplyServerSide,
	})}
}

// percentage matches "1%" to "100%".
var percentage = regexp.MustCompile(`^([1-9][0-9]?|100)%$`)

// validateMaxUnavailable checks how many children a rolling update may have in motion. With 0 it
// would never progress.
func validateMaxUnavailable(limit *intstr.IntOrString, path *field.Path) field.ErrorList {
	switch {
	case limit == nil:
	case limit.Type == intstr.Int && limit.IntVal < 1,
		limit.Type == intstr.String && !percentage.MatchString(limit.StrVal):
		return field.ErrorList{field.Invalid(path, limit.String(), `must be a number from 1 on, or a percentage from "1%" to "100%"`)}
	}
	return nil
}

func validatePartition(partition *int32, path *field.Path) field.ErrorList {
	if partition != nil && *partition < 0 {
		return field.ErrorList{field.Invalid(path, *partition, "must be the number of children that stay as they are, 0 or more")}
	}
	return nil
}
