// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Install registers v1alpha1, the only version, as the served and as the internal one: an API server decodes requests
// and stored objects to the internal version of a kind.
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
	if err := scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion); err != nil {
		return fmt.Errorf("setting the version priority of %s: %w", v1alpha1.GroupName, err)
	}
	return nil
}
