// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

// Install registers the internal types and all served versions, and sets the preferred version.
func Install(scheme *runtime.Scheme) error {
	if err := migration.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering the internal types of %s: %w", migration.GroupName, err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering %s: %w", v1alpha1.SchemeGroupVersion, err)
	}
	if err := scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion); err != nil {
		return fmt.Errorf("setting the version priority of %s: %w", migration.GroupName, err)
	}
	return nil
}
