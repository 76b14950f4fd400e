// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestALargeControllerIsRefused(t *testing.T) {
	const want = "bytes of JSON, but the maximum is 524288 (--max-object-bytes)"
	client := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	name := created(t)
	var large *v1alpha1.CompositeController
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // the server writes the status
		large = get(t, name)
		large.Annotations = map[string]string{"note": strings.Repeat("x", 200<<10)}
		large.Spec.Hooks.Sync.Webhook.Path = new(strings.Repeat("x", 400<<10))
		_, err := client.Update(t.Context(), large, metav1.UpdateOptions{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error of an update is %v", err)
	}
	large.ResourceVersion, large.Name = "", harness.Name("test")
	_, err = client.Create(t.Context(), large, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error of a creation is %v", err)
	}
}

func TestANamespaceHasAHundredControllers(t *testing.T) {
	namespace := env.Namespace(t)
	client := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	one := get(t, created(t))
	one.Labels, one.ResourceVersion = map[string]string{"of": namespace}, ""
	one.Spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: namespace, Name: "tenant"}
	t.Cleanup(func() {
		of := metav1.ListOptions{LabelSelector: "of=" + namespace}
		if err := client.DeleteCollection(context.Background(), metav1.DeleteOptions{}, of); err != nil {
			t.Error(err)
		}
	})
	const most, late = 100, 20 // the server counts what its watch has told it
	for count := range most + late {
		one.Name = harness.Name("test")
		_, err := client.Create(t.Context(), one, metav1.CreateOptions{})
		switch {
		case err == nil:
			continue
		case count < most:
			t.Errorf("controller %d is refused: %v", count+1, err)
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), fmt.Sprintf("in the namespace %q", namespace)):
			t.Errorf("the error is %v", err)
		}
		return
	}
	t.Error("nothing is refused")
}
