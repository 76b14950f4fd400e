// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// UnsupportedError tells that a spec is right and asks for something this version
// does not do yet. Running such a controller without it would do harm: a hook that is
// not shown what it asked for answers something else.
type UnsupportedError struct{ Fields []string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("this version does not support %s yet", strings.Join(e.Fields, ", "))
}

// checkSupported returns an *UnsupportedError that names all that is asked for in vain.
func checkSupported(spec *v1alpha1.CompositeControllerSpec) error {
	var fields []string
	unless := func(supported bool, field string) {
		if !supported {
			fields = append(fields, field)
		}
	}
	for i, rule := range spec.ChildResources {
		if strategy := rule.UpdateStrategy; strategy != nil {
			unless(strategy.Method != v1alpha1.ChildUpdateRollingRecreate && strategy.Method != v1alpha1.ChildUpdateRollingInPlace,
				fmt.Sprintf("childResources[%d].updateStrategy.method %s", i, strategy.Method))
		}
	}
	if len(fields) > 0 {
		return &UnsupportedError{Fields: fields}
	}
	return nil
}
