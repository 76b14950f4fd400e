// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	served "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	generatedopenapi "github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
	metacontrollerrest "github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/syncreview"
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

	// Leading returns a context that ends when the host no longer finds the API at this server. The watches of
	// those who found it here then end. If it is nil, that is not known.
	Leading func() context.Context

	// Live are the kinds whose objects the controllers have in memory.
	Live metacontrollerrest.Live

	// LeaderProxy forwards the requests that only the leader can answer; nil if this process is the only one.
	LeaderProxy *LeaderProxy

	// Reviews answers SyncReviews; nil if there is no controller loop.
	Reviews syncreview.Reviewer

	// Metrics are served at /metrics beside those of the server itself. A family may be in several
	// of them if its type and help are the same and the labels of its series differ.
	Metrics []prometheus.Gatherer
}

// NewConfig returns a configuration that serves the types of a scheme, which NewScheme has made.
// The caller applies options to its GenericConfig.
func NewConfig(scheme *runtime.Scheme) *Config {
	generic := genericapiserver.NewRecommendedConfig(NewCodecs(scheme))
	namer := openapi.NewDefinitionNamer(served.Scheme) // without internal versions
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	for _, info := range []*spec.InfoProps{&generic.OpenAPIConfig.Info.InfoProps, &generic.OpenAPIV3Config.Info.InfoProps} {
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
		loopback.DisableCompression = true // nobody gains by it within a process
	}
	return CompletedConfig{&completedConfig{
		generic: c.GenericConfig.Complete(),
		extra:   c.ExtraConfig,
		scheme:  c.scheme,
	}}, nil
}
