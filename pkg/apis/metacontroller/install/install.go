// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Install registers v1alpha1, the only version, as the served and as the internal one: an API server decodes what it is
// sent and what it stores to the internal version of a kind.
func Install(scheme *runtime.Scheme) error {
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering %s: %w", v1alpha1.SchemeGroupVersion, err)
	}
	scheme.AddKnownTypes(v1alpha1.InternalGroupVersion,
		&v1alpha1.CompositeController{},
		&v1alpha1.CompositeControllerList{},
		&v1alpha1.ControllerRevision{},
		&v1alpha1.ControllerRevisionList{},
		&v1alpha1.DecoratorController{},
		&v1alpha1.DecoratorControllerList{},
		&v1alpha1.ResyncRequest{},
		&v1alpha1.SyncReview{},
	)
	if err := errors.Join(
		addCopying[v1alpha1.CompositeController](scheme),
		addCopying[v1alpha1.ControllerRevision](scheme),
		addCopying[v1alpha1.DecoratorController](scheme),
		addCopying[v1alpha1.ResyncRequest](scheme),
		addCopying[v1alpha1.SyncReview](scheme),
	); err != nil {
		return fmt.Errorf("registering the conversions of %s: %w", v1alpha1.GroupName, err)
	}
	if err := scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion); err != nil {
		return fmt.Errorf("setting the version priority of %s: %w", v1alpha1.GroupName, err)
	}
	return nil
}

// addCopying registers that an object of the internal version is converted to v1alpha1, and back, by copying it. Admission
// converts objects whose version is not set.
func addCopying[T any, P interface {
	*T
	DeepCopyInto(into *T)
}](scheme *runtime.Scheme) error {
	return scheme.AddConversionFunc((*T)(nil), (*T)(nil), func(from, to any, _ conversion.Scope) error {
		P(from.(*T)).DeepCopyInto(to.(*T))
		return nil
	})
}
