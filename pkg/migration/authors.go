// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// findAuthors finds which rights whoever changes the spec of a controller must have here. Metacontroller asks for none.
func (m *Migration) findAuthors(ctx context.Context, all objects, found *findings) error {
	for _, of := range all {
		controller, err := internal(of)
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
		required, err := admission.RequiredRights(ctx, m.kube.Discovery(), controller)
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
		if len(required) > 0 {
			found.add(requires, of.String(), "%s", rights.Summary(required))
		}
	}
	return nil
}

// internal returns a controller object as admission knows it; nil for a revision.
func internal(of object) (runtime.Object, error) {
	switch of.name {
	case "CompositeController":
		controller, converted := &v1alpha1.CompositeController{}, &metacontroller.CompositeController{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.Object, controller); err != nil {
			return nil, err
		}
		return converted, v1alpha1.Convert_v1alpha1_CompositeController_To_metacontroller_CompositeController(controller, converted, nil)
	case "DecoratorController":
		controller, converted := &v1alpha1.DecoratorController{}, &metacontroller.DecoratorController{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.Object, controller); err != nil {
			return nil, err
		}
		return converted, v1alpha1.Convert_v1alpha1_DecoratorController_To_metacontroller_DecoratorController(controller, converted, nil)
	}
	return nil, nil
}
