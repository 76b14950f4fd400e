// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregation

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// Names of what is registered at the cluster, the same as in artifacts/deploy.
const (
	Namespace      = "metacontroller"
	ServiceName    = "metacontroller-apiserver"
	APIServiceName = "v1alpha1.metacontroller.k8s.io"

	fieldManager   = "metacontroller-apiserver-attach"
	managedByLabel = "app.kubernetes.io/managed-by"
	// Registering again changes this annotation, so that the cluster looks at once whether the
	// server is there and does not wait for its next look at a server that was away.
	registeredAnnotation = "metacontroller.k8s.io/registered-at"

	removeTimeout = time.Minute // a namespace takes a few seconds
)

var (
	group          = schema.GroupVersion{Group: "metacontroller.k8s.io", Version: "v1alpha1"}
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	services       = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	endpointSlices = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	leases         = coordinationv1.SchemeGroupVersion.WithResource("leases")
	apiServices    = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// Registration registers our API at a cluster.
type Registration struct {
	ExternalName string // name or IPv4 address under which kube-apiserver reaches the server
	Port         int
	CABundle     []byte // PEM of the authority that signed the server's certificate

	// ByEndpoint registers an endpoint instead of a name. A kube-apiserver with
	// --enable-aggregator-routing wants that; others look for the service's cluster IP then, which
	// they may not reach. ExternalName must be an address.
	ByEndpoint bool
}

// errNameRefused means that kube-apiserver wants an endpoint.
var errNameRefused = errors.New("kube-apiserver takes no Service of type ExternalName, since it runs with --enable-aggregator-routing")

// Apply registers the API, or renews a registration of ours. It refuses to replace the registration
// of another server.
func (r Registration) Apply(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := ownAPIService(ctx, client); err != nil {
		return err
	}
	for _, object := range r.objects() {
		resource := resourceOf(object)
		foreign, err := isForeign(ctx, client.Resource(resource).Namespace(object.GetNamespace()), object.GetName())
		switch {
		case err != nil:
			return err
		case foreign && resource == namespaces:
			continue // it has what others need, so it is used as it is, and stays
		case foreign:
			return fmt.Errorf("there is a %s %s/%s already that was not made by `make run`: remove it first", object.GetKind(), object.GetNamespace(), object.GetName())
		}
		_, err = client.Resource(resource).Namespace(object.GetNamespace()).
			Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if err != nil {
			return fmt.Errorf("register %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// isForeign reports whether an object exists that was not made by this package.
func isForeign(ctx context.Context, client dynamic.ResourceInterface, name string) (bool, error) {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", name, err)
	}
	return object.GetLabels()[managedByLabel] != fieldManager, nil
}

func (r Registration) objects() []*unstructured.Unstructured {
	object := func(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetLabels(map[string]string{managedByLabel: fieldManager})
		if spec != nil {
			u.Object["spec"] = spec
		}
		return u
	}
	apiService := object("apiregistration.k8s.io/v1", "APIService", "", APIServiceName, map[string]any{
		"group":                group.Group,
		"version":              group.Version,
		"groupPriorityMinimum": int64(1000),
		"versionPriority":      int64(100),
		"caBundle":             base64.StdEncoding.EncodeToString(r.CABundle),
		"service":              map[string]any{"namespace": Namespace, "name": ServiceName, "port": int64(r.Port)},
	})
	apiService.SetAnnotations(map[string]string{registeredAnnotation: time.Now().UTC().Format(time.RFC3339Nano)})
	namespace := object("v1", "Namespace", "", Namespace, nil)
	if !r.ByEndpoint {
		service := object("v1", "Service", Namespace, ServiceName, map[string]any{"type": "ExternalName", "externalName": r.ExternalName})
		return []*unstructured.Unstructured{namespace, service, apiService}
	}
	port := map[string]any{"name": "https", "port": int64(r.Port)}
	service := object("v1", "Service", Namespace, ServiceName, map[string]any{"type": "ClusterIP", "ports": []any{port}})
	endpoints := object("discovery.k8s.io/v1", "EndpointSlice", Namespace, ServiceName, nil)
	endpoints.SetLabels(map[string]string{managedByLabel: fieldManager, discoveryv1.LabelServiceName: ServiceName})
	endpoints.Object["addressType"] = "IPv4"
	endpoints.Object["endpoints"] = []any{map[string]any{"addresses": []any{r.ExternalName}}}
	endpoints.Object["ports"] = []any{port}
	return []*unstructured.Unstructured{namespace, service, endpoints, apiService}
}

// String describes the registered Service.
func (r Registration) String() string {
	how := "ExternalName"
	if r.ByEndpoint {
		how = "endpoint"
	}
	return fmt.Sprintf("%s %s, port %d", how, r.ExternalName, r.Port)
}

func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	switch object.GetKind() {
	case "Namespace":
		return namespaces
	case "Service":
		return services
	case "EndpointSlice":
		return endpointSlices
	default:
		return apiServices
	}
}

// ownAPIService returns the APIService of our API, nil if there is none, and an error if it belongs
// to another server.
func ownAPIService(ctx context.Context, client dynamic.Interface) (*unstructured.Unstructured, error) {
	apiService, err := client.Resource(apiServices).Get(ctx, APIServiceName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the APIService %s: %w", APIServiceName, err)
	}
	if apiService.GetLabels()[managedByLabel] != fieldManager {
		return nil, fmt.Errorf("the cluster serves %s already, by CustomResourceDefinitions or another metacontroller-apiserver "+
			"(see `kubectl get apiservice %s -o yaml`): move its controllers, by docs/migrate.md, "+
			"because removing it deletes them",
			group, APIServiceName)
	}
	return apiService, nil
}

// Registered reports whether our API is registered at the cluster. It is an error if that was done for
// another server than those of this package.
func Registered(ctx context.Context, config *rest.Config) (bool, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false, err
	}
	apiService, err := ownAPIService(ctx, client)
	return apiService != nil, err
}

// CheckFree returns nil if nothing is registered at the cluster, or a server with the authority
// whose PEM is caBundle. A server with another one has another storage: taking its place would make
// all controllers seem lost.
func CheckFree(ctx context.Context, config *rest.Config, caBundle []byte) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	apiService, err := ownAPIService(ctx, client)
	if err != nil || apiService == nil {
		return err
	}
	registered, _, err := unstructured.NestedString(apiService.Object, "spec", "caBundle")
	if err != nil {
		return fmt.Errorf("read the APIService %s: %w", APIServiceName, err)
	}
	if registered != base64.StdEncoding.EncodeToString(caBundle) {
		return fmt.Errorf("a server with another data directory is registered at the cluster: run with that one, " +
			"or take its registration away with `make run-clean`")
	}
	return nil
}

// RemoveLease removes the Lease that names the storage of the server, unless a registration of the API is there.
func RemoveLease(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if apiService, err := ownAPIService(ctx, client); err != nil || apiService != nil {
		return nil // the Lease is that of a server that comes back, or of another one
	}
	return client.Resource(leases).Namespace(Namespace).DeleteCollection(
		ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: leader.StorageLabel})
}

// ensureNamespace makes the namespace of the server, in which it holds its Lease.
func ensureNamespace(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := Registration{}.objects()[0]
	_, err = client.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", Namespace, err)
	}
	return nil
}

// Remove removes a registration, the namespace included, and waits until it is gone. The
// registration of another server stays.
func Remove(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := ownAPIService(ctx, client); err != nil {
		return err
	}
	// The APIService first: no namespace can be deleted while it exists and its server does not
	// answer.
	return errors.Join(
		remove(ctx, client.Resource(apiServices), APIServiceName),
		remove(ctx, client.Resource(services).Namespace(Namespace), ServiceName),
		remove(ctx, client.Resource(namespaces), Namespace),
	)
}

func remove(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	if object.GetLabels()[managedByLabel] != fieldManager {
		return nil
	}
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", object.GetKind(), name, err)
	}
	return poll.Within(ctx, removeTimeout, func(ctx context.Context) error {
		_, err := client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			return fmt.Errorf("%s %s is still there", object.GetKind(), name)
		}
	})
}

// Available returns nil if the cluster says that our APIService is available. Of a server that has
// just ended it still says so for some time, unless its registration is renewed.
func Available(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	apiService, err := client.Resource(apiServices).Get(ctx, APIServiceName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return available(apiService)
}

// Served returns nil if the cluster serves our API: it is available, in its discovery document,
// answers a list, and its schemas are in the OpenAPI documents of the cluster.
func Served(ctx context.Context, config *rest.Config) error {
	if err := Available(ctx, config); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resource := group.WithResource("compositecontrollers")
	if _, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	// Not the one of this group alone: kubectl reads the aggregated document, which follows a
	// moment later.
	_, resources, err := disco.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(resources, func(list *metav1.APIResourceList) bool { return list.GroupVersion == group.String() }) {
		return fmt.Errorf("the cluster's discovery document has no %s yet", group)
	}
	// The schemas follow later still, a second or more after the registration. kubectl explain reads them.
	schemas, err := disco.OpenAPIV3().Paths()
	if err != nil {
		return fmt.Errorf("read which schemas the cluster serves: %w", err)
	}
	if _, has := schemas["apis/"+group.String()]; !has {
		return fmt.Errorf("the cluster's OpenAPI documents have no %s yet", group)
	}
	return nil
}

func available(apiService *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(apiService.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != "Available" {
			continue
		}
		if condition["status"] == "True" {
			return nil
		}
		err := fmt.Errorf("APIService %s is not available: %v: %v", APIServiceName, condition["reason"], condition["message"])
		if strings.Contains(err.Error(), `unsupported service type "ExternalName"`) {
			return fmt.Errorf("%w: %w", errNameRefused, err)
		}
		return err
	}
	return fmt.Errorf("APIService %s is not available yet", APIServiceName)
}
