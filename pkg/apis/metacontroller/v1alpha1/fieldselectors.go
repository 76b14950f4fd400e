// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// The fields by which Syncs and HookCalls are selected, besides those of metadata.
const (
	FieldController = "controller"
	FieldKind       = "kind"
	FieldParent     = "parent"
	FieldState      = "state"
	FieldHook       = "hook"
	FieldResult     = "result"
)

// addFieldSelectors registers the fields by which objects of a kind are selected.
func addFieldSelectors(scheme *runtime.Scheme, kind string, known ...string) error {
	known = append(known, "metadata.name", "metadata.namespace")
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind), func(label, value string) (string, string, error) {
		if !slices.Contains(known, label) {
			return "", "", fmt.Errorf("%q is no field selector of a %s; these are: %s", label, kind, strings.Join(known, ", "))
		}
		return label, value, nil
	})
}
