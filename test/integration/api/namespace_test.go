// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// hostControllerDeadline is the deadline for the host's own controllers, which discover new types
// only every half minute.
const hostControllerDeadline = 2 * time.Minute

func createRevision(t *testing.T, namespace string, owners ...metav1.OwnerReference) {
	t.Helper()
	_, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(namespace).Create(t.Context(), &v1alpha1.ControllerRevision{
		ObjectMeta:  metav1.ObjectMeta{Name: "revision", OwnerReferences: owners},
		ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		Children:    []v1alpha1.ControllerRevisionChildren{{APIGroup: "", Kind: "Pod", Names: []string{"a", "b"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func TestANamespaceWithControllerRevisionsCanBeDeleted(t *testing.T) {
	namespace := env.Namespace(t)
	createRevision(t, namespace)
	env.Kubectl(t, "delete", "namespace", namespace, "--wait=false")
	env.Within(t, hostControllerDeadline, func(ctx context.Context) error {
		left, err := env.Kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the namespace is still there (%v): %+v", err, left.Status)
	})
}

func TestATerminatingNamespaceTakesNoControllerRevisions(t *testing.T) {
	namespace := env.Namespace(t)
	holder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "holder", Finalizers: []string{"example.com/hold"}}}
	holders := env.Kube.CoreV1().ConfigMaps(namespace)
	if _, err := holders.Create(t.Context(), holder, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	env.Kubectl(t, "delete", "namespace", namespace, "--wait=false")
	env.Eventually(t, func(ctx context.Context) error {
		_, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(namespace).Create(ctx, &v1alpha1.ControllerRevision{
			ObjectMeta:  metav1.ObjectMeta{GenerateName: "late-"},
			ParentPatch: runtime.RawExtension{Raw: []byte(`{}`)},
		}, metav1.CreateOptions{})
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return fmt.Errorf("creating in a terminating namespace gives %v, want a refusal", err)
		}
		return nil
	})
	env.Kubectl(t, "patch", "configmap", "holder", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

func TestTheHostCollectsAControllerRevisionWhoseOwnerWent(t *testing.T) {
	namespace := env.Namespace(t)
	owners := env.Kube.CoreV1().ConfigMaps(namespace)
	owner, err := owners.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	createRevision(t, namespace, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID})
	if err := owners.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.Within(t, hostControllerDeadline, func(ctx context.Context) error {
		_, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(namespace).Get(ctx, "revision", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the revision is still there (error %v)", err)
		}
		return nil
	})
}
