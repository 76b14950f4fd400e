// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// lookInterval bounds how often the host is asked whether it has come to serve an API.
	lookInterval = 5 * time.Second
	// lookTimeout bounds how long a request waits for the answer.
	lookTimeout = 2 * time.Second
)

// registerHostPlugins registers the plugins of the library, which run the host's rules. Those that run
// policies wait for a host that serves no policies yet.
func registerHostPlugins(plugins *genericadmission.Plugins) {
	lifecycle.Register(plugins)
	mutatingwebhook.Register(plugins)
	validatingwebhook.Register(plugins)
	plugins.Register(mutatingpolicy.PluginName, func(config io.Reader) (genericadmission.Interface, error) {
		plugin, err := mutatingpolicy.NewPlugin(config)
		return &mutatingPolicies{plugin, awaitedAPI{plugin: plugin, resource: mutatingPoliciesResource()}}, err
	})
	plugins.Register(validatingpolicy.PluginName, func(config io.Reader) (genericadmission.Interface, error) {
		plugin, err := validatingpolicy.NewPlugin(config)
		return &validatingPolicies{plugin, awaitedAPI{plugin: plugin, resource: validatingPoliciesResource()}}, err
	})
}

// mutatingPolicies runs the host's MutatingAdmissionPolicies from when the host serves them. The
// awaitedAPI initializes the plugin.
type mutatingPolicies struct {
	*mutatingpolicy.Plugin
	awaitedAPI
}

// Admit applies the policies.
func (p *mutatingPolicies) Admit(ctx context.Context, request genericadmission.Attributes, objects genericadmission.ObjectInterfaces) error {
	if served, err := p.isServed(ctx); err != nil || !served {
		return err
	}
	return p.Plugin.Admit(ctx, request, objects)
}

// validatingPolicies runs the host's ValidatingAdmissionPolicies from when the host serves them. The
// awaitedAPI initializes the plugin.
type validatingPolicies struct {
	*validatingpolicy.Plugin
	awaitedAPI
}

// Validate applies the policies.
func (p *validatingPolicies) Validate(ctx context.Context, request genericadmission.Attributes, objects genericadmission.ObjectInterfaces) error {
	if served, err := p.isServed(ctx); err != nil || !served {
		return err
	}
	return p.Plugin.Validate(ctx, request, objects)
}

// policyPlugin is what an awaitedAPI needs of the plugin that it starts.
type policyPlugin interface {
	initializer.WantsExternalKubeClientSet
	initializer.WantsExternalKubeInformerFactory
	initializer.WantsDrainedNotification
}

// servedResources asks the host for the resources of an API version.
type servedResources interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// awaitedAPI starts a plugin as soon as the host serves what the plugin watches: at the start of the
// server, or when the host is upgraded. A plugin that watched it sooner would keep the server from
// becoming ready.
type awaitedAPI struct {
	plugin    policyPlugin
	resource  schema.GroupVersionResource
	host      servedResources
	informers informers.SharedInformerFactory
	stop      <-chan struct{}

	started atomic.Bool
	mu      sync.Mutex
	looked  time.Time
	isKnown bool // whether the host has ever told
}

func (a *awaitedAPI) SetExternalKubeClientSet(client kubernetes.Interface) {
	a.host = client.Discovery()
	a.plugin.SetExternalKubeClientSet(client)
}

func (a *awaitedAPI) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	a.informers = factory
	a.plugin.SetExternalKubeInformerFactory(factory)
}

func (a *awaitedAPI) SetDrainedNotification(stop <-chan struct{}) {
	a.stop = stop
	a.plugin.SetDrainedNotification(stop)
}

// ValidateInitialization starts the plugin if the host serves the API, and else lets isServed do so.
func (a *awaitedAPI) ValidateInitialization() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	served, err := a.look(context.Background())
	if err != nil || !served {
		return nil
	}
	a.started.Store(true)
	return a.plugin.ValidateInitialization()
}

// look asks the host whether it serves the API. The caller holds the mutex.
func (a *awaitedAPI) look(ctx context.Context) (bool, error) {
	a.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	served, err := serves(ctx, a.host, a.resource)
	if err != nil {
		return false, fmt.Errorf("asking the cluster whether it serves %s: %w", a.resource, err)
	}
	a.isKnown = true
	return served, nil
}

// isServed reports whether the plugin is started. If it is not, the host is asked again from time to
// time. As long as the host has never answered, isServed is an error, since the host may have rules that
// the request has to follow.
func (a *awaitedAPI) isServed(ctx context.Context) (bool, error) {
	if a.started.Load() {
		return true, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started.Load() || a.isKnown && time.Since(a.looked) < lookInterval {
		return a.started.Load(), nil
	}
	served, err := a.look(ctx)
	switch {
	case err != nil && !a.isKnown:
		unavailable := apierrors.NewServiceUnavailable(err.Error())
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return false, unavailable
	case err != nil:
		klog.FromContext(ctx).Error(err, "Failed to look for an API of the cluster again")
		return false, nil
	case !served:
		return false, nil
	}
	logger := klog.FromContext(ctx).WithValues("resource", a.resource)
	if err := a.plugin.ValidateInitialization(); err != nil {
		logger.Error(err, "Failed to start an admission plugin")
		return false, nil
	}
	a.informers.Start(a.stop)
	a.started.Store(true)
	logger.Info("Started an admission plugin, since the cluster serves what it needs")
	return true, nil
}
