// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GetConfigMap reads a ConfigMap of the fixture's namespace.
func (f *Fixture) GetConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return f.Env.Kube.CoreV1().ConfigMaps(f.Namespace).Get(ctx, name, metav1.GetOptions{})
}

// HasConfigMap reports whether a ConfigMap is there now.
func (f *Fixture) HasConfigMap(name string) bool {
	f.Helper()
	_, err := f.GetConfigMap(f.Context(), name)
	if err != nil && !apierrors.IsNotFound(err) {
		f.Fatal(err)
	}
	return err == nil
}

// WaitForConfigMap waits until check accepts a ConfigMap, and returns it.
func (f *Fixture) WaitForConfigMap(name string, check func(*corev1.ConfigMap) error) *corev1.ConfigMap {
	f.Helper()
	return f.Env.WaitForConfigMap(f, f.Namespace, name, check)
}

// WaitUntilConfigMapIsGone waits until there is no ConfigMap of that name.
func (f *Fixture) WaitUntilConfigMapIsGone(name string) {
	f.Helper()
	f.Env.WaitUntilConfigMapIsGone(f, f.Namespace, name)
}

// PatchConfigMap applies a JSON merge patch to a ConfigMap.
func (f *Fixture) PatchConfigMap(name string, patch Object) *corev1.ConfigMap {
	f.Helper()
	patched, err := f.Env.Kube.CoreV1().ConfigMaps(f.Namespace).
		Patch(f.Context(), name, types.MergePatchType, []byte(JSON(f, patch)), metav1.PatchOptions{})
	if err != nil {
		f.Fatalf("patch ConfigMap %s: %v", name, err)
	}
	return patched
}

// DeleteConfigMap deletes a ConfigMap if it is there.
func (f *Fixture) DeleteConfigMap(name string) {
	f.Helper()
	err := f.Env.Kube.CoreV1().ConfigMaps(f.Namespace).Delete(f.Context(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		f.Fatalf("delete ConfigMap %s: %v", name, err)
	}
}

// HasData checks a value of a ConfigMap; empty is no such key.
func HasData(key, value string) func(*corev1.ConfigMap) error {
	return func(configMap *corev1.ConfigMap) error {
		if configMap.Data[key] != value {
			return fmt.Errorf("ConfigMap %s should have %s=%q, but has %v", configMap.Name, key, value, configMap.Data)
		}
		return nil
	}
}

// Exists accepts each ConfigMap.
func Exists(*corev1.ConfigMap) error { return nil }
