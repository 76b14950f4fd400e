// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// apiServiceName names the APIService that the switcher changes.
	apiServiceName = servedVersion + "." + group
	// automanagedLabel is "true" on APIServices that kube-apiserver creates for definitions and reconciles.
	automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"
	// holdReason is the value of the annotation that holds the controllers of this server during a migration.
	holdReason = "migration"
)

func apiServices() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
}

// switcher has the definitions or this server serve the API.
type switcher struct{ *cluster }

// leadHere points the APIService to this server, which adds the caBundle, and holds its controllers.
func (s *switcher) leadHere(ctx context.Context) error {
	err := s.change(ctx, apiServices(), apiServiceName, func(of *unstructured.Unstructured) bool {
		spec := of.Object["spec"].(map[string]any)
		spec["service"] = map[string]any{"namespace": s.config.Service.Namespace, "name": s.config.Service.Name,
			"port": int64(s.config.Port)}
		labels := orEmpty(of.GetLabels())
		labels[automanagedLabel] = "false"
		of.SetLabels(labels)
		mark(of, inDefinitions, true)
		return true
	})
	if err != nil {
		return err
	}
	if err := s.until(ctx, "the server to serve the API", s.serves(inServer)); err != nil {
		return err
	}
	s.say("the APIService %s refers to the Service %s, and holds its controllers", apiServiceName, s.config.Service)
	return s.propagate(ctx)
}

// mark notes on the APIService which side is authoritative, and whether a step holds the controllers of the server. It
// keeps a hold that an administrator has set.
func mark(of *unstructured.Unstructured, counts side, held bool) {
	annotations := orEmpty(of.GetAnnotations())
	annotations[v1alpha1.MovedAnnotation] = strconv.FormatBool(counts == inServer)
	why := annotations[v1alpha1.HoldAnnotation]
	switch {
	case held && (why == "" || why == "false"):
		annotations[v1alpha1.HoldAnnotation] = holdReason
	case !held && why == holdReason:
		delete(annotations, v1alpha1.HoldAnnotation)
	}
	of.SetAnnotations(annotations)
}

// mark returns a step that marks the APIService.
func (s *switcher) mark(counts side, held bool) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.change(ctx, apiServices(), apiServiceName, func(of *unstructured.Unstructured) bool {
			mark(of, counts, held)
			return true
		})
	}
}

// leadBack deletes the APIService. kube-apiserver then creates its own, and rebuilds the discovery of the group.
func (s *switcher) leadBack(ctx context.Context) error {
	from, err := s.get(ctx, apiServices(), apiServiceName)
	if err != nil {
		return err
	}
	if from != nil && from.GetLabels()[automanagedLabel] != "true" {
		err := s.dynamic.Resource(apiServices()).Delete(ctx, apiServiceName,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(from.GetUID())}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the APIService %s of the server: %w", apiServiceName, err)
		}
	}
	if err := s.until(ctx, "the CustomResourceDefinitions to serve the API", s.serves(inDefinitions)); err != nil {
		return err
	}
	return s.propagate(ctx)
}

// serves returns a check that returns nil if a side serves the API.
func (s *switcher) serves(of side) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.discovered(ctx, of); err != nil {
			return err
		}
		return s.listed(ctx, servedVersion, kinds())
	}
}

// discovered returns nil if the aggregated discovery of the cluster has the kinds as a side serves them. Clients and
// the deletion of namespaces find them there.
func (s *switcher) discovered(ctx context.Context, as side) error {
	_, lists, err := s.kube.Discovery().ServerGroupsAndResourcesWithContext(ctx)
	served := sets.Set[string]{}
	for _, list := range lists {
		for _, of := range list.APIResources {
			if list.GroupVersion == v1alpha1.SchemeGroupVersion.String() {
				served.Insert(of.Name)
			}
		}
	}
	for _, kind := range kinds() {
		if !served.Has(kind.resource) {
			return errors.Join(fmt.Errorf("the discovery of the cluster lacks the %s", kind.definition()), err)
		}
	}
	if byServer := served.Has("syncreviews"); byServer != (as == inServer) {
		return fmt.Errorf("it is not the API of the %s", as)
	}
	return nil
}

func orEmpty(of map[string]string) map[string]string {
	if of == nil {
		return map[string]string{}
	}
	return of
}
