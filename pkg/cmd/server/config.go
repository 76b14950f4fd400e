// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	genericadmission "k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline/check"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	metacontrollerrest "github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
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
			Namespaces: config.GenericConfig.SharedInformerFactory.Core().V1().Namespaces().Informer(),
			Options:    o.Controllers.Options,
		}
		if controllers.Election, err = o.newElection(config); err != nil {
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
			if _, err := storage.claim(ctx); isOfOtherCluster(err) {
				return nil, err
			}
		}
		config.ExtraConfig.RunControllers = o.runControllers(host, controllers, storage, &config.ExtraConfig)
		config.GenericConfig.AddReadyzChecks(healthz.NamedCheck("cluster", host.check))
	}
	return config, nil
}

// runControllers returns the function that runs the controller loop as soon as the host is available.
func (o *Options) runControllers(
	host *extendedHost, config controller.Config, storage *storageIdentity, extra *apiserver.ExtraConfig,
) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, loopback *rest.Config) error {
		if err := host.follow(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		id, err := storage.await(ctx, config.Election.SetUnknown)
		if err != nil || ctx.Err() != nil {
			return err
		}
		config.Storage = id
		defer o.watchParents(ctx, loopback)()
		defer follow(ctx, config.Registration)()
		config.Loopback = loopback
		defer extra.LeaderProxy.Close()
		defer runLive(ctx, extra.Live)()
		return controller.Run(ctx, config)
	}
}

// follow follows the registration until stop is called.
func follow(ctx context.Context, registered *registration.Registration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		if err := registered.Run(ctx); err != nil {
			// an informer that was not started does not fail
			klog.FromContext(ctx).Error(err, "Failed to watch the registration; no controllers run")
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

// addAdmissionPlugins registers all plugins. Our own come after those that run the host's rules, which may change an
// object. The last one only warns.
func (o *Options) addAdmissionPlugins() {
	plugins := o.Recommended.Admission
	plugins.Plugins = genericadmission.NewPlugins()
	genericapiserver.RegisterAllAdmissionPlugins(plugins.Plugins)
	plugins.Plugins.Register(admission.HookAddressesPlugin,
		func(io.Reader) (genericadmission.Interface, error) { return o.hookAddresses(), nil })
	plugins.Plugins.Register(admission.ServiceAccountsPlugin,
		func(io.Reader) (genericadmission.Interface, error) { return o.serviceAccounts(), nil })
	plugins.Plugins.Register(admission.LimitsPlugin, func(io.Reader) (genericadmission.Interface, error) {
		return admission.NewLimits(o.Storage.MaxObjectBytes, o.Storage.MaxControllersPerNamespace, o.parents), nil
	})
	plugins.Plugins.Register(admission.RightsPlugin, admission.NewRights)
	plugins.Plugins.Register(admission.RevisionsPlugin, admission.NewRevisions)
	plugins.Plugins.Register(admission.WarningsPlugin,
		func(io.Reader) (genericadmission.Interface, error) { return o.warnings(), nil })
	plugins.RecommendedPluginOrder = append(plugins.RecommendedPluginOrder,
		admission.LimitsPlugin, admission.HookAddressesPlugin, admission.ServiceAccountsPlugin, admission.RightsPlugin,
		admission.RevisionsPlugin, admission.WarningsPlugin)
}

func (o *Options) hookAddresses() *admission.HookAddresses {
	return admission.NewHookAddresses(o.Controllers.Hooks.Denied)
}

func (o *Options) serviceAccounts() *admission.ServiceAccounts {
	return admission.NewServiceAccounts(o.Controllers.RequireServiceAccount)
}

func (o *Options) warnings() *admission.Warnings {
	resolver := admission.HookResolver{Lookup: net.DefaultResolver.LookupNetIP, Proxy: http.ProxyFromEnvironment,
		Denied: o.Controllers.Hooks.Denied}
	return admission.NewWarnings(o.parents, resolver)
}

// initializeAdmission returns the initializer that gives clients of the host to our plugins.
func initializeAdmission(config *genericapiserver.RecommendedConfig) ([]genericadmission.PluginInitializer, error) {
	if config.ClientConfig == nil {
		return nil, nil
	}
	host, err := admissionHost(config.ClientConfig)
	if err != nil {
		return nil, err
	}
	return []genericadmission.PluginInitializer{admission.NewInitializer(host)}, nil
}

// admissionHost returns the clients of the host for admission.
func admissionHost(config *rest.Config) (admission.Host, error) {
	// One request may lead to dozens of reviews. The host limits how many there are at once.
	hostConfig := rest.AddUserAgent(rest.CopyConfig(config), "admission")
	hostConfig.QPS = -1
	client, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return admission.Host{}, fmt.Errorf("creating a client for the cluster, for admission: %w", err)
	}
	schemas, err := host.NewClient(hostConfig, host.FieldManager)
	if err != nil {
		return admission.Host{}, err
	}
	return admission.Host{
		Reviews: client.AuthorizationV1().SubjectAccessReviews(), Types: client.Discovery(),
		Definitions: hostDefinitions{client.Discovery().RESTClient()},
		Schemas:     hostSchemas{schemas},
	}, nil
}

// hostSchemas reads the schemas of the host.
type hostSchemas struct{ client *host.Client }

// Of implements admission.Schemas. It keeps nothing that it reads.
func (h hostSchemas) Of(
	ctx context.Context, kinds []schema.GroupVersionKind,
) (map[schema.GroupVersionKind]*check.Schema, error) {
	var types []object.Type
	for _, kind := range kinds {
		types = append(types, object.Type{GroupVersionResource: kind.GroupVersion().WithResource(""), Kind: kind.Kind})
	}
	read, _, err := discovery.New(h.client, func(string) {}).Schemas(ctx, types)
	return check.ByKind(read), err
}

// hostDefinitions reads CustomResourceDefinitions of the host.
type hostDefinitions struct{ client rest.Interface }

// Get implements admission.Definitions.
func (h hostDefinitions) Get(ctx context.Context, name string) ([]byte, error) {
	return h.client.Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Name(name).SetHeader("Accept",
		"application/json").Do(ctx).Raw()
}

// watchParents keeps the index of parents up to date from the controllers of this server, until
// stop is called.
func (o *Options) watchParents(ctx context.Context, loopback *rest.Config) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := o.parents.Run(ctx, loopback); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to watch controllers; authors are not warned of other controllers of "+
				"the same parents")
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// newElection returns the leader election of this process, and makes the server forward requests that only the leader
// can answer. It returns nil without --leader-election.
func (o *Options) newElection(config *apiserver.Config) (*leader.Election, error) {
	if !o.Controllers.LeaderElection {
		return nil, nil
	}
	address, err := o.replicaAddress(config.GenericConfig.SecureServing.Listener)
	if err != nil {
		return nil, err
	}
	hostConfig := rest.AddUserAgent(rest.CopyConfig(config.GenericConfig.ClientConfig), "leader-election")
	hostConfig.QPS, hostConfig.Timeout = -1, leader.RequestTimeout
	client, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the cluster, for the Lease: %w", err)
	}
	election := leader.New(leader.Config{
		Client: client.CoordinationV1(), Namespace: o.Controllers.LeaseNamespace, Name: o.Controllers.LeaseName,
		Process: o.Controllers.process, Address: address, Exclusive: o.embedded(),
	})
	config.ExtraConfig.LeaderProxy = &apiserver.LeaderProxy{
		Leader: election, Trust: apiserver.NewTrust(hostConfig, client.Discovery().RESTClient(), apiServiceName),
		User: (&ownUser{client: client}).get,
	}
	config.GenericConfig.AddReadyzChecks(healthz.NamedCheck("lease", election.Check))
	return election, nil
}

// replicaAddress returns the address that other replicas use to reach this process: --advertise-address, or else
// --bind-address, or else the address of the interface that the machine, or the Pod, uses to reach others.
func (o *Options) replicaAddress(listener net.Listener) (string, error) {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "", fmt.Errorf("finding the address that this process listens on: %w", err)
	}
	ip := o.ServerRun.AdvertiseAddress
	if len(ip) == 0 || ip.IsUnspecified() {
		ip = o.Recommended.SecureServing.BindAddress
	}
	if len(ip) == 0 || ip.IsUnspecified() {
		if ip, err = utilnet.ResolveBindAddress(ip); err != nil {
			return "", fmt.Errorf(
				"finding the address that other replicas use to reach this process (set --advertise-address): %w", err)
		}
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// ownUser looks up the name of this process's user at the host. All replicas have the same user.
type ownUser struct {
	client kubernetes.Interface

	mu   sync.Mutex
	name string
}

// get returns the name of the user. It caches the answer of the host.
func (u *ownUser) get(ctx context.Context) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.name != "" {
		return u.name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostRequestTimeout)
	defer cancel()
	reviews := u.client.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	u.name = review.Status.UserInfo.Username
	return u.name, nil
}

// newLive returns the sources of the API kinds whose objects the controllers of this process have in memory.
func newLive(handle *controller.Handle, hostConfig *rest.Config) (metacontrollerrest.Live, error) {
	hostConfig = rest.AddUserAgent(rest.CopyConfig(hostConfig), "live")
	hostConfig.QPS = -1
	host, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return metacontrollerrest.Live{}, fmt.Errorf("creating a client for the cluster, for Syncs and HookCalls: %w",
			err)
	}
	return metacontrollerrest.Live{
		Syncs:     live.NewSyncRows(handle.FollowSyncs),
		HookCalls: live.NewHookCallRows(handle.FollowHookCalls),
		HookCall:  handle.HookCall,
		Reviews:   host.AuthorizationV1().SubjectAccessReviews(),
		Resync:    handle.RequestSyncs,
	}, nil
}

// runLive runs the sources of Syncs and HookCalls until the caller calls stop or ctx ends.
func runLive(ctx context.Context, live metacontrollerrest.Live) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { live.Syncs.Run(ctx) })
	running.Go(func() { live.HookCalls.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
