// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// apiServiceName is the name of the APIService that is switched.
	apiServiceName = servedVersion + "." + group
	// automanagedLabel is "true" on APIServices that kube-apiserver creates for definitions and reconciles.
	automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"
	// holdReason is the value of the annotation that holds the controllers of this server during a migration.
	holdReason = "migration"
)

func apiServices() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
}

// apiService is the APIService of the API. It has no object if there is no APIService.
type apiService struct{ *unstructured.Unstructured }

// registrar points the APIService to this server or back to the definitions.
type registrar struct{ *cluster }

func (r *registrar) get(ctx context.Context) (apiService, error) {
	found, err := r.dynamic.Resource(apiServices()).Get(ctx, apiServiceName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return apiService{}, nil
	}
	if err != nil {
		return apiService{}, fmt.Errorf("read the APIService %s: %w", apiServiceName, err)
	}
	return apiService{found}, nil
}

func (s apiService) exists() bool { return s.Unstructured != nil }

// leadsTo returns the Service that serves the API. It is empty if definitions serve it.
func (s apiService) leadsTo() types.NamespacedName {
	namespace, _, _ := unstructured.NestedString(s.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(s.Object, "spec", "service", "name")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// leadHere points the APIService to this server, which adds the caBundle, and holds its controllers.
func (r *registrar) leadHere(ctx context.Context) error {
	err := r.change(ctx, func(of *unstructured.Unstructured) {
		spec := of.Object["spec"].(map[string]any)
		spec["service"] = map[string]any{"namespace": r.config.Service.Namespace, "name": r.config.Service.Name,
			"port": int64(r.config.Port)}
		labels := orEmpty(of.GetLabels())
		labels[automanagedLabel] = "false"
		of.SetLabels(labels)
		hold(of, true)
	})
	if err != nil {
		return err
	}
	if err := r.until(ctx, "the server to serve the API", r.servedHere); err != nil {
		return err
	}
	return pause(ctx, settlePeriod) // until the other kube-apiservers lead there
}

// hold holds the controllers of the server, or releases them. It keeps a hold that an administrator has set.
func hold(of *unstructured.Unstructured, held bool) {
	annotations := orEmpty(of.GetAnnotations())
	why := annotations[v1alpha1.HoldAnnotation]
	switch {
	case held && (why == "" || why == "false"):
		annotations[v1alpha1.HoldAnnotation] = holdReason
	case !held && why == holdReason:
		delete(annotations, v1alpha1.HoldAnnotation)
	}
	delete(annotations, v1alpha1.MovedAnnotation)
	if !held {
		annotations[v1alpha1.MovedAnnotation] = "true"
	}
	of.SetAnnotations(annotations)
}

func (r *registrar) setHold(ctx context.Context, held bool) error {
	return r.change(ctx, func(of *unstructured.Unstructured) { hold(of, held) })
}

func (r *registrar) change(ctx context.Context, change func(*unstructured.Unstructured)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := r.dynamic.Resource(apiServices()).Get(ctx, apiServiceName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(found)
		_, err = r.dynamic.Resource(apiServices()).Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("change the APIService %s: %w", apiServiceName, err)
	}
	return nil
}

// leadBack deletes the APIService. kube-apiserver then creates its own, and rebuilds the discovery of the group.
func (r *registrar) leadBack(ctx context.Context, from apiService) error {
	if from.exists() && from.GetLabels()[automanagedLabel] != "true" {
		uid := from.GetUID()
		err := r.dynamic.Resource(apiServices()).Delete(ctx, apiServiceName,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the APIService %s of the server: %w", apiServiceName, err)
		}
	}
	err := r.until(ctx, "the CustomResourceDefinitions to serve the API", func(ctx context.Context) error {
		if r.servedHere(ctx) == nil {
			return errors.New("the server still serves it")
		}
		if err := r.listed(ctx); err != nil {
			return err
		}
		return r.discovered(ctx)
	})
	if err != nil {
		return err
	}
	return pause(ctx, settlePeriod) // until the other kube-apiservers lead there
}

// servedHere returns nil if this server serves the API.
func (r *registrar) servedHere(ctx context.Context) error {
	list, err := r.kube.Discovery().ServerResourcesForGroupVersionWithContext(ctx, v1alpha1.SchemeGroupVersion.String())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list.APIResources, func(of metav1.APIResource) bool { return of.Name == "syncreviews" }) {
		return errors.New("the cluster serves it from CustomResourceDefinitions")
	}
	return r.listed(ctx)
}

// listed returns nil if all kinds can be listed.
func (r *registrar) listed(ctx context.Context) error {
	for _, kind := range kinds() {
		if _, err := r.dynamic.Resource(kind.in(servedVersion)).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
	}
	return nil
}

// discovered returns nil if the aggregated discovery of the cluster has the kinds. Clients and the deletion of
// namespaces find them there.
func (r *registrar) discovered(ctx context.Context) error {
	_, lists, err := r.kube.Discovery().ServerGroupsAndResourcesWithContext(ctx)
	for _, list := range lists {
		if list.GroupVersion != v1alpha1.SchemeGroupVersion.String() {
			continue
		}
		for _, kind := range kinds() {
			if !slices.ContainsFunc(list.APIResources, func(of metav1.APIResource) bool { return of.Name == kind.resource }) {
				return fmt.Errorf("the discovery of the cluster lacks the %s", kind.resource)
			}
		}
		return nil
	}
	return errors.Join(fmt.Errorf("the discovery of the cluster lacks %s", v1alpha1.SchemeGroupVersion), err)
}

func orEmpty(of map[string]string) map[string]string {
	if of == nil {
		return map[string]string{}
	}
	return of
}
