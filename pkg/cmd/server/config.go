// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/identity"
)

// config returns the configuration of a server that keeps its objects in the embedded etcd, or in the etcd of
// --etcd-servers if that is nil.
func (o *Options) config(ctx context.Context, embedded *etcd.Server) (*apiserver.Config, error) {
	scheme, err := apiserver.NewScheme()
	if err != nil {
		return nil, err
	}
	serving := o.Recommended.SecureServing.SecureServingOptions
	if err := o.Certificate.ensure(serving, o.Recommended.CoreAPI.CoreAPIKubeconfigPath); err != nil {
		return nil, err
	}
	endpoint := ""
	if embedded != nil {
		endpoint = embedded.Endpoint()
	}
	recommended := o.recommended(o.etcdServers(endpoint))
	var host *extendedHost
	if !o.Standalone {
		if host, err = newExtendedHost(recommended); err != nil {
			return nil, err
		}
		if err := host.prepare(ctx); err != nil {
			return nil, err
		}
	}
	config := apiserver.NewConfig(scheme)
	if err := o.ServerRun.ApplyTo(&config.GenericConfig.Config); err != nil {
		return nil, fmt.Errorf("applying the options of requests: %w", err)
	}
	backend := recommended.Etcd.StorageConfig
	backend.StorageObjectCountTracker = config.GenericConfig.StorageObjectCountTracker
	factory := apiserver.NewStorageFactory(scheme, backend)
	if err := recommended.Etcd.ApplyWithStorageFactoryTo(factory, &config.GenericConfig.Config); err != nil {
		return nil, fmt.Errorf("connecting to the storage: %w", err)
	}
	others := *recommended
	others.Etcd, others.Authentication = nil, nil // applied above and below
	if err := others.ApplyTo(config.GenericConfig); err != nil {
		return nil, err
	}
	if err := delegateAuthentication(recommended.Authentication, &config.GenericConfig.Config); err != nil {
		return nil, err
	}
	if embedded != nil {
		config.ExtraConfig.Metrics = append(config.ExtraConfig.Metrics, embedded.Metrics())
	}
	if host != nil {
		registry := prometheus.NewRegistry()
		config.ExtraConfig.Metrics = append(config.ExtraConfig.Metrics, registry)
		registered, err := registration.New(config.GenericConfig.ClientConfig, o.Certificate.registration())
		if err != nil {
			return nil, err
		}
		config.ExtraConfig.Leading = registered.Leading
		handle := &controller.Handle{}
		controllers := controller.Config{
			Host: config.GenericConfig.ClientConfig, Metrics: registry, Registration: registered, Handle: handle,
			Options: o.Controllers.Options,
		}
		if controllers.Election, err = o.stand(config); err != nil {
			return nil, err
		}
		config.ExtraConfig.Reviews = handle
		if o.Recommended.Traces.ConfigFile != "" {
			controllers.Tracing = config.GenericConfig.TracerProvider
		}
		if config.ExtraConfig.Live, err = newLive(handle, config.GenericConfig.ClientConfig); err != nil {
			return nil, err
		}
		storage := &storageIdentity{host: host.client, storage: recommended.Etcd.StorageConfig}
		if o.embedded() {
			storage.place = o.Controllers.process + ":" + o.Storage.DataDir
		}
		if host.isFound() { // if it is not, runControllers returns the error
			if _, err := storage.claim(ctx); identity.IsOfOtherCluster(err) {
				return nil, err
			}
		}
		config.ExtraConfig.RunControllers = o.runControllers(host, controllers, storage, &config.ExtraConfig)
		config.GenericConfig.AddReadyzChecks(healthz.NamedCheck("cluster", host.check))
	}
	return config, nil
}

// runControllers returns the function that runs the controller loop from when the host has come.
func (o *Options) runControllers(
	host *extendedHost, config controller.Config, storage *storageIdentity, extra *apiserver.ExtraConfig,
) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, loopback *rest.Config) error {
		if err := host.follow(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		id, err := storage.await(ctx, config.Election.Wait)
		if err != nil || ctx.Err() != nil {
			return err
		}
		config.Storage = id
		defer o.watchParents(ctx, loopback)()
		defer follow(ctx, config.Registration)()
		config.Loopback = loopback
		defer extra.LeaderProxy.Close()
		defer show(ctx, extra.Live)()
		return controller.Run(ctx, config)
	}
}

// follow follows the registration until stop is called.
func follow(ctx context.Context, registered *registration.Registration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		if err := registered.Run(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to follow the registration; no controllers run") // an informer that was not started does not fail
		}
	})
	return func() {
		cancel()
		following.Wait()
	}
}

// etcdServers returns the servers of --etcd-servers, or the embedded one.
func (o *Options) etcdServers(embeddedEndpoint string) []string {
	if o.embedded() {
		return []string{embeddedEndpoint}
	}
	return o.Recommended.Etcd.StorageConfig.Transport.ServerList
}

// recommended returns a copy of the recommended options for the etcd servers. Changing it does not
// change the options.
func (o *Options) recommended(etcdServers []string) *genericoptions.RecommendedOptions {
	recommended, etcd := *o.Recommended, *o.Recommended.Etcd
	etcd.StorageConfig.Transport.ServerList = etcdServers
	recommended.Etcd = &etcd
	if o.Standalone {
		recommended.CoreAPI = nil
	}
	if recommended.Admission != nil {
		admission := *recommended.Admission
		recommended.Admission = &admission
	}
	features := *recommended.Features
	recommended.Features = &features
	return &recommended
}
