// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

// holdReason is the value of the annotation that holds the controllers of this server during a migration.
const holdReason = "migration"

// apiService is an APIService. There is none if it has no object.
type apiService struct{ *unstructured.Unstructured }

func (m *Migration) getAPIService(ctx context.Context, name string) (apiService, error) {
	found, err := m.dynamic.Resource(apiServices()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return apiService{}, nil
	}
	if err != nil {
		return apiService{}, fmt.Errorf("read the APIService %s: %w", name, err)
	}
	return apiService{found}, nil
}

func (s apiService) exists() bool { return s.Unstructured != nil }

// service returns the Service that it leads to; empty if it leads to definitions.
func (s apiService) service() types.NamespacedName {
	if !s.exists() {
		return types.NamespacedName{}
	}
	namespace, _, _ := unstructured.NestedString(s.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(s.Object, "spec", "service", "name")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// hold returns why it holds controllers; empty if it does not.
func (s apiService) hold() string {
	if !s.exists() || s.GetAnnotations()[v1alpha1.HoldAnnotation] == "false" {
		return ""
	}
	return s.GetAnnotations()[v1alpha1.HoldAnnotation]
}

// available returns nil if the cluster says that it is available by itself: the server was asked.
func (s apiService) available() error {
	if !s.exists() {
		return errors.New("there is none")
	}
	conditions, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] != "Available" {
			continue
		}
		if condition["status"] == "True" && condition["reason"] == "Passed" {
			return nil
		}
		return fmt.Errorf("%v: %v", condition["reason"], condition["message"])
	}
	return errors.New("the cluster has not looked yet")
}

// ensureImports registers the API by which objects are imported, and waits until it is served.
func (m *Migration) ensureImports(ctx context.Context) error {
	found, err := m.getAPIService(ctx, ImportsAPIService)
	if err != nil {
		return err
	}
	if !found.exists() {
		authority, err := m.authority(ctx)
		if err != nil {
			return err
		}
		_, err = m.dynamic.Resource(apiServices()).Create(ctx, m.importsAPIService(authority), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("register the API of the migration: %w", err)
		}
		m.say("registered the API of the migration (APIService %s, Service %s)", ImportsAPIService, m.config.Service)
	}
	return m.until(ctx, "that the server answers", func(ctx context.Context) error {
		registered, err := m.getAPIService(ctx, ImportsAPIService)
		if err != nil {
			return err
		}
		if err := registered.available(); err != nil {
			return fmt.Errorf("the APIService %s is not available: %w", ImportsAPIService, err)
		}
		return m.imports.ping(ctx)
	})
}

// authority returns the authority of the server's certificate in PEM: the given one, or that in the Secret of a server that makes its
// certificates. Without one, the server writes it into the APIService, which the cluster then trusts a moment later.
func (m *Migration) authority(ctx context.Context) ([]byte, error) {
	if len(m.config.CABundle) > 0 {
		return m.config.CABundle, nil
	}
	secret, err := m.kube.CoreV1().Secrets(m.config.Service.Namespace).Get(ctx, m.config.Service.Name+"-certificates", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret with the certificate of the server: %w", err)
	}
	return secret.Data["ca.crt"], nil
}

func (m *Migration) importsAPIService(authority []byte) *unstructured.Unstructured {
	spec := map[string]any{
		"group": migration.GroupName, "version": "v1alpha1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
		"service": map[string]any{"namespace": m.config.Service.Namespace, "name": m.config.Service.Name, "port": int64(m.config.Port)},
	}
	if len(authority) > 0 {
		spec["caBundle"] = base64.StdEncoding.EncodeToString(authority)
	}
	made := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	made.SetGroupVersionKind(apiServices().GroupVersion().WithKind("APIService"))
	made.SetName(ImportsAPIService)
	return made
}

// notTaken are annotations that do not go from one APIService to the other.
var notTaken = []string{"kubectl.kubernetes.io/last-applied-configuration", v1alpha1.HoldAnnotation, returningAnnotation}

// leadHere makes the APIService of the API lead to this server, as the one of the migration does, and hold its controllers. It is one
// update: the cluster goes on serving the API meanwhile.
func (m *Migration) leadHere(ctx context.Context) error {
	registered, err := m.getAPIService(ctx, ImportsAPIService)
	if err != nil {
		return err
	}
	if err := registered.available(); err != nil {
		return fmt.Errorf("the APIService %s is not available, so the server must not take the API over: %w", ImportsAPIService, err)
	}
	return m.updateAPIService(ctx, apiServiceName, func(service apiService) {
		spec := service.Object["spec"].(map[string]any)
		for _, field := range []string{"service", "caBundle", "insecureSkipTLSVerify"} {
			value, found, _ := unstructured.NestedFieldCopy(registered.Object, "spec", field)
			if delete(spec, field); found {
				spec[field] = value
			}
		}
		labels := orEmpty(service.GetLabels())
		delete(labels, automanagedLabel)
		maps.Copy(labels, registered.GetLabels())
		service.SetLabels(labels)
		annotations := orEmpty(service.GetAnnotations())
		for name, value := range registered.GetAnnotations() {
			if !slices.Contains(notTaken, name) {
				annotations[name] = value
			}
		}
		annotations[v1alpha1.HoldAnnotation] = holdReason
		service.SetAnnotations(annotations)
	})
}

// leadBack makes the APIService lead to the definitions, as kube-apiserver makes one for them.
func (m *Migration) leadBack(ctx context.Context) error {
	return m.updateAPIService(ctx, apiServiceName, func(service apiService) {
		spec := service.Object["spec"].(map[string]any)
		for _, field := range []string{"service", "caBundle", "insecureSkipTLSVerify"} {
			delete(spec, field)
		}
		service.SetLabels(map[string]string{automanagedLabel: "true"})
		service.SetAnnotations(nil)
	})
}

// returningAnnotation is on the APIService of the migration from the beginning of the way back to its end.
const returningAnnotation = group + "/returning"

func (s apiService) isReturning() bool {
	return s.exists() && s.GetAnnotations()[returningAnnotation] == "true"
}

// setReturning notes that the way back has begun, or not.
func (m *Migration) setReturning(ctx context.Context, returning bool) error {
	return m.updateAPIService(ctx, ImportsAPIService, func(service apiService) {
		annotations := orEmpty(service.GetAnnotations())
		if delete(annotations, returningAnnotation); returning {
			annotations[returningAnnotation] = "true"
		}
		service.SetAnnotations(annotations)
	})
}

// setHold has controllers held, or not.
func (m *Migration) setHold(ctx context.Context, held bool) error {
	return m.updateAPIService(ctx, apiServiceName, func(service apiService) {
		annotations := orEmpty(service.GetAnnotations())
		if delete(annotations, v1alpha1.HoldAnnotation); held {
			annotations[v1alpha1.HoldAnnotation] = holdReason
		}
		service.SetAnnotations(annotations)
	})
}

func (m *Migration) updateAPIService(ctx context.Context, name string, change func(apiService)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		service, err := m.getAPIService(ctx, name)
		if err != nil {
			return err
		}
		if !service.exists() {
			return errors.New("there is none")
		}
		change(service)
		_, err = m.dynamic.Resource(apiServices()).Update(ctx, service.Unstructured, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("change the APIService %s: %w", name, err)
	}
	return nil
}

func orEmpty(of map[string]string) map[string]string {
	if of == nil {
		return map[string]string{}
	}
	return of
}
