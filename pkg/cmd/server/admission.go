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

	genericadmission "k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
)

// addAdmissionPlugins registers all plugins. Our own come after those that run the host's rules,
// which may change an object. The last one only warns of what the others let pass.
func (o *Options) addAdmissionPlugins() {
	plugins := o.Recommended.Admission
	plugins.Plugins = genericadmission.NewPlugins()
	genericapiserver.RegisterAllAdmissionPlugins(plugins.Plugins)
	plugins.Plugins.Register(admission.HookAddressesPlugin, func(io.Reader) (genericadmission.Interface, error) { return o.hookAddresses(), nil })
	plugins.Plugins.Register(admission.ServiceAccountsPlugin, func(io.Reader) (genericadmission.Interface, error) { return o.serviceAccounts(), nil })
	plugins.Plugins.Register(admission.LimitsPlugin, func(io.Reader) (genericadmission.Interface, error) {
		return admission.NewLimits(o.Storage.MaxObjectBytes, o.Storage.MaxControllersPerNamespace, o.parents), nil
	})
	plugins.Plugins.Register(admission.RightsPlugin, admission.NewRights)
	plugins.Plugins.Register(admission.RevisionsPlugin, admission.NewRevisions)
	plugins.Plugins.Register(admission.WarningsPlugin, func(io.Reader) (genericadmission.Interface, error) { return o.warnings(), nil })
	plugins.RecommendedPluginOrder = append(plugins.RecommendedPluginOrder,
		admission.LimitsPlugin, admission.HookAddressesPlugin, admission.ServiceAccountsPlugin, admission.RightsPlugin,
		admission.RevisionsPlugin, admission.WarningsPlugin)
}

func (o *Options) hookAddresses() *admission.HookAddresses {
	return admission.NewHookAddresses(o.Controllers.HookDenied)
}

func (o *Options) serviceAccounts() *admission.ServiceAccounts {
	return admission.NewServiceAccounts(o.Controllers.RequireServiceAccount)
}

func (o *Options) warnings() *admission.Warnings {
	resolver := admission.HookResolver{Lookup: net.DefaultResolver.LookupNetIP, Proxy: http.ProxyFromEnvironment, Denied: o.Controllers.HookDenied}
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
		return admission.Host{}, fmt.Errorf("making a client of the cluster for admission: %w", err)
	}
	return admission.Host{
		Reviews: client.AuthorizationV1().SubjectAccessReviews(), Types: client.Discovery(),
		Definitions: hostDefinitions{client.Discovery().RESTClient()},
	}, nil
}

// hostDefinitions reads CustomResourceDefinitions of the host.
type hostDefinitions struct{ client rest.Interface }

// Get implements admission.Definitions.
func (h hostDefinitions) Get(ctx context.Context, name string) ([]byte, error) {
	return h.client.Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Name(name).SetHeader("Accept", "application/json").Do(ctx).Raw()
}

// watchParents keeps the index of parents up to date from the controllers of this server, until
// stop is called.
func (o *Options) watchParents(ctx context.Context, loopback *rest.Config) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := o.parents.Run(ctx, loopback); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to watch controllers; authors are not warned of other controllers of the same parents")
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}
