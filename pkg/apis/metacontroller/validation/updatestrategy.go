// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

func validateUpdateMethod(method metacontroller.ChildUpdateMethod, path *field.Path) field.ErrorList {
	switch method {
	case "",
		metacontroller.ChildUpdateOnDelete,
		metacontroller.ChildUpdateRecreate,
		metacontroller.ChildUpdateInPlace,
		metacontroller.ChildUpdateRollingRecreate,
		metacontroller.ChildUpdateRollingInPlace:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, method, []metacontroller.ChildUpdateMethod{
		metacontroller.ChildUpdateOnDelete,
		metacontroller.ChildUpdateRecreate,
		metacontroller.ChildUpdateInPlace,
		metacontroller.ChildUpdateRollingRecreate,
		metacontroller.ChildUpdateRollingInPlace,
	})}
}

func validateApplyStrategy(strategy metacontroller.ChildApplyStrategy, path *field.Path) field.ErrorList {
	switch strategy {
	case "", metacontroller.ChildApplyDynamic, metacontroller.ChildApplyServerSide:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, strategy, []metacontroller.ChildApplyStrategy{
		metacontroller.ChildApplyDynamic,
		metacontroller.ChildApplyServerSide,
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
