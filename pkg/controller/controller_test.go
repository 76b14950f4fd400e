// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestManagedFieldsAreNotKept(t *testing.T) {
	for _, fresh := range []metav1.Object{&v1alpha1.CompositeController{}, &v1alpha1.DecoratorController{}, &v1alpha1.ControllerRevision{}} {
		fresh.SetUID("a")
		fresh.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "metacontroller"}})
		kept, err := withoutManagedFields(fresh)
		if err != nil || kept.(metav1.Object) != fresh || fresh.GetManagedFields() != nil || fresh.GetUID() != "a" {
			t.Errorf("of a %T, kept is %v, %v", fresh, kept, err)
		}
	}
}
