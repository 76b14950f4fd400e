// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	served "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	generatedopenapi "github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	metacontrollerrest "github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// Name is the name of the server in logs and in its OpenAPI documents.
const Name = "metacontroller-apiserver"

// Config is the configuration of a server.
type Config struct {
	GenericConfig *genericapiserver.RecommendedConfig
	ExtraConfig   ExtraConfig

	scheme *runtime.Scheme
}

// ExtraConfig holds the settings that the generic server does not have.
type ExtraConfig struct {
	// RunControllers runs the controller loop until the context ends, and returns when all of it
	// has stopped. loopback reaches this server as a user who may do everything. If it returns
	// before the context ends, the server shuts down. If it is nil, there is no controller loop.
	RunControllers func(ctx context.Context, loopback *rest.Config) error

	// Leading returns a context that ends when the host no longer routes the API to this server. Watches then end. If it
	// is nil, watches do not end for this reason.
	Leading func() context.Context

	// Live are the kinds whose objects the controllers have in memory.
	Live metacontrollerrest.Live

	// LeaderProxy forwards the requests that only the leader can answer; nil if this process is the only one.
	LeaderProxy *LeaderProxy

	// Reviews answers SyncReviews; nil if there is no controller loop.
	Reviews live.SyncReviewer

	// Metrics are served at /metrics together with those of the server itself. A family may be in several of them if
	// its type and help are the same and the labels of its series differ.
	Metrics []prometheus.Gatherer
}

// NewConfig returns a configuration that serves the types of a scheme, which NewScheme has made.
// The caller applies options to its GenericConfig.
func NewConfig(scheme *runtime.Scheme) *Config {
	generic := genericapiserver.NewRecommendedConfig(NewCodecs(scheme))
	namer := openapi.NewDefinitionNamer(served.Scheme) // without internal versions
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	for _, info := range []*spec.InfoProps{&generic.OpenAPIConfig.Info.InfoProps,
		&generic.OpenAPIV3Config.Info.InfoProps} {
		info.Title = Name
		info.Version = version.Get().Version
	}
	made := &Config{GenericConfig: generic, scheme: scheme}
	generic.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		served := made.ExtraConfig.LeaderProxy.wrap(endWatches(handler, made.ExtraConfig.Leading), config.Serializer)
		chain := genericapiserver.DefaultBuildHandlerChain(served, config)
		return spreadConnections(chain, config.GoawayChance, config.ShutdownInitiatedNotify())
	}
	return made
}

type completedConfig struct {
	generic genericapiserver.CompletedConfig
	extra   ExtraConfig
	scheme  *runtime.Scheme
}

// CompletedConfig is a configuration that Complete has returned. Only such a configuration makes a
// server.
type CompletedConfig struct {
	*completedConfig
}

// Complete fills in the settings that follow from others.
func (c *Config) Complete() (CompletedConfig, error) {
	if err := allowDiscovery(&c.GenericConfig.Authorization); err != nil {
		return CompletedConfig{}, err
	}
	if err := c.ExtraConfig.LeaderProxy.applyTo(&c.GenericConfig.Config); err != nil {
		return CompletedConfig{}, err
	}
	awaitFrontProxy(&c.GenericConfig.Config)
	if loopback := c.GenericConfig.LoopbackClientConfig; loopback != nil {
		loopback.DisableCompression = true // it has no benefit within a process
	}
	return CompletedConfig{&completedConfig{
		generic: c.GenericConfig.Complete(),
		extra:   c.ExtraConfig,
		scheme:  c.scheme,
	}}, nil
}

// NewScheme returns a scheme of all types that the server reads, stores and answers.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return nil, err
	}
	// Request options, and answers such as Status, have version v1 and no group.
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	scheme.AddUnversionedTypes(version,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return scheme, nil
}

// NewCodecs returns the codecs of a scheme. They write lists item by item instead of encoding them
// in memory first.
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON())
}

// storedResources returns the resources of metacontroller.k8s.io that are stored in etcd.
func storedResources() []schema.GroupResource {
	return []schema.GroupResource{
		v1alpha1.Resource("compositecontrollers"),
		v1alpha1.Resource("decoratorcontrollers"),
		v1alpha1.Resource("controllerrevisions"),
	}
}

// NewStorageFactory returns how each resource is stored: as JSON, in a version that is pinned here.
// It need not be the version that the scheme prefers: older servers must be able to read the
// storage after the preferred version has changed.
func NewStorageFactory(scheme *runtime.Scheme, backend storagebackend.Config) serverstorage.StorageFactory {
	encodings := serverstorage.NewDefaultResourceEncodingConfig(scheme)
	prefixes := map[schema.GroupResource]string{}
	for _, resource := range storedResources() {
		encodings.SetResourceEncoding(resource, v1alpha1.SchemeGroupVersion, v1alpha1.InternalGroupVersion)
		prefixes[resource] = resource.Group + "/" + resource.Resource
	}
	return serverstorage.NewDefaultStorageFactory(backend, runtime.ContentTypeJSON, NewCodecs(scheme), encodings,
		serverstorage.NewResourceConfig(), prefixes)
}
