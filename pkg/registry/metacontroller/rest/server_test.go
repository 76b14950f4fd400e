// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	served "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	generatedopenapi "github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

// A server is the API group behind a generic API server that lets everybody do everything, on an
// etcd of its own. All of it runs inside the test process and ends with the test.
type server struct {
	http.Handler
	etcd *kubernetes.Client
}

func newServer(t *testing.T) server {
	t.Helper()
	scheme := registrytest.NewScheme(t)
	config := genericapiserver.NewConfig(serializer.NewCodecFactory(scheme))
	etcd := registrytest.StartStorage(t, scheme, config)
	namer := openapi.NewDefinitionNamer(served.Scheme)
	config.ExternalAddress = "127.0.0.1:443"
	config.LoopbackClientConfig = &restclient.Config{}
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)

	generic, err := config.Complete(nil).New("registry-test", genericapiserver.NewEmptyDelegate())
	if err != nil {
		t.Fatalf("creating the API server: %v", err)
	}
	group, err := rest.StorageProvider{Scheme: scheme}.NewRESTStorage(config.RESTOptionsGetter)
	if err != nil {
		t.Fatal(err)
	}
	if err := generic.InstallAPIGroup(&group); err != nil {
		t.Fatalf("installing the API group: %v", err)
	}
	generic.PrepareRun()
	t.Cleanup(generic.Destroy)
	return server{Handler: generic.Handler, etcd: etcd}
}

// listen makes a handler reachable over HTTP, and returns the configuration for clients of it.
func listen(t *testing.T, handler http.Handler) *restclient.Config {
	t.Helper()
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	return &restclient.Config{
		Host:          listener.URL,
		ContentConfig: restclient.ContentConfig{ContentType: runtime.ContentTypeJSON},
		QPS:           -1,
	}
}

func newTypedClient(t *testing.T, config *restclient.Config) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A kind is one of the three, with a client for it and a valid object.
type kind struct {
	resource string
	client   dynamic.ResourceInterface
	object   string
	// otherContent is a merge patch that changes what the object is about, so that its generation
	// rises.
	otherContent string
	hasStatus    bool
}

// forEachKind runs a test for each kind, all on one new server.
func forEachKind(t *testing.T, test func(*testing.T, kind)) {
	t.Helper()
	client, err := dynamic.NewForConfig(listen(t, newServer(t)))
	if err != nil {
		t.Fatal(err)
	}
	of := func(resource string) dynamic.NamespaceableResourceInterface {
		return client.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource))
	}
	for _, kind := range []kind{
		{
			resource:     "compositecontrollers",
			client:       of("compositecontrollers"),
			object:       compositeController,
			otherContent: `{"spec":{"generateSelector":true}}`,
			hasStatus:    true,
		},
		{
			resource:     "decoratorcontrollers",
			client:       of("decoratorcontrollers"),
			object:       decoratorController,
			otherContent: `{"spec":{"resyncPeriodSeconds":5}}`,
			hasStatus:    true,
		},
		{
			resource:     "controllerrevisions",
			client:       of("controllerrevisions").Namespace("ns"),
			object:       controllerRevision,
			otherContent: `{"children":[{"apiGroup":"","kind":"Pod","names":["b"]}]}`,
		},
	} {
		t.Run(kind.resource, func(t *testing.T) { test(t, kind) })
	}
}

// named returns the kind's valid object under a name.
func (k kind) named(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: fromYAML(t, k.object)}
	object.SetName(name)
	return object
}

func fromYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content
}

const (
	compositeController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {labels: {app: test}}
spec:
  parentResource: {apiVersion: example.com/v1, resource: foos}
  childResources: [{apiVersion: v1, resource: pods}]
  hooks: {sync: {version: v1, webhook: {url: "http://hooks.example/sync"}}}
`
	decoratorController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {labels: {app: test}}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  attachments: [{apiVersion: v1, resource: services}]
  hooks: {sync: {version: v1, webhook: {url: "http://hooks.example/sync"}}}
`
	controllerRevision = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {namespace: ns, labels: {app: test}}
parentPatch: {spec: {image: a}}
children: [{apiGroup: "", kind: Pod, names: [a]}]
`
)
