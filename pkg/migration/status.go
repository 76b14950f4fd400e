// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// stands returns nil if the status of a controller object says that nothing runs for it, or if this server never ran
// it, as with --target-label-selector.
func stands(of *unstructured.Unstructured) error {
	all, err := readyOf(of)
	if err != nil {
		return err
	}
	for _, ready := range all {
		if ready.Reason != v1alpha1.ReasonHeld && ready.Reason != v1alpha1.ReasonNotSelected {
			return fmt.Errorf("its condition Ready still has the reason %s", ready.Reason)
		}
	}
	return nil
}

// isReleased returns nil unless the status of a controller object says that it is held.
func isReleased(of *unstructured.Unstructured) error {
	all, err := readyOf(of)
	if err != nil {
		return err
	}
	for _, ready := range all {
		if ready.Reason == v1alpha1.ReasonHeld {
			return errors.New("it is still held")
		}
	}
	return nil
}

// errNotRun says that this server has never run a controller.
var errNotRun = errors.New("it has no condition Ready")

// runs returns nil if a controller object is ready.
func runs(of *unstructured.Unstructured) error {
	all, err := readyOf(of)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errNotRun
	}
	for _, ready := range all {
		if ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s: %s", ready.Reason, ready.Message)
		}
	}
	return nil
}

// readyOf returns the condition Ready of a controller object, if it has one.
func readyOf(of *unstructured.Unstructured) ([]metav1.Condition, error) {
	content, _, err := unstructured.NestedMap(of.Object, "status")
	if err != nil {
		return nil, err
	}
	var status v1alpha1.ControllerStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
		return nil, err
	}
	if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return []metav1.Condition{*ready}, nil
	}
	return nil, nil
}
