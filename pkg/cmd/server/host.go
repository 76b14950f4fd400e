// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// startTimeout bounds how long the start waits for the host. In a Pod, the network may come after
	// the process.
	startTimeout = 5 * time.Second
	hostInterval = time.Second
	// hostRequestTimeout bounds each request at start, in case the host accepts connections and
	// never answers.
	hostRequestTimeout = 10 * time.Second
)

// hostConfig reads a kubeconfig file of the host. If kubeconfig is "", the host is the cluster that
// this process runs in.
func hostConfig(kubeconfig string) (*rest.Config, error) {
	read := rest.InClusterConfig
	if kubeconfig != "" {
		read = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", kubeconfig) }
	}
	config, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the connection to the cluster: %w", err)
	}
	config.Timeout = hostRequestTimeout
	return config, nil
}

// hostClient returns a client of the host, made from the same options as the generic server's own
// client.
func hostClient(options *genericoptions.CoreAPIOptions) (kubernetes.Interface, *rest.Config, error) {
	config, err := hostConfig(options.CoreAPIKubeconfigPath)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for the cluster: %w", err)
	}
	return client, config, nil
}

// extendedHost is the host that this server extends. The host may be down when the server starts. The server then
// serves requests that do not need the host, and becomes ready when the host is available.
type extendedHost struct {
	client  kubernetes.Interface
	address string
	options *genericoptions.RecommendedOptions

	found chan struct{} // closed when the host has come

	mu      sync.Mutex
	missing error // of the last probe
}

func newExtendedHost(options *genericoptions.RecommendedOptions) (*extendedHost, error) {
	client, config, err := hostClient(options.CoreAPI)
	if err != nil {
		return nil, err
	}
	return &extendedHost{client: client, address: config.Host, options: options, found: make(chan struct{})}, nil
}

// prepare waits up to startTimeout for the host, and turns off features whose APIs the host lacks. If it does not
// answer, prepare assumes that it serves all.
func (h *extendedHost) prepare(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := h.await(starting, needsChange)
	switch {
	case err == nil:
		if err := trimToHost(ctx, h.client.Discovery(), h.options); err != nil {
			return err
		}
		close(h.found)
	case needsChange(err):
		return err
	case ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "Starting without the cluster", "address", h.address)
	}
	return ctx.Err()
}

// follow waits for a host that prepare has not found, until the context ends. It returns an error if the server must be
// restarted for the host.
func (h *extendedHost) follow(ctx context.Context) error {
	if h.isFound() {
		return nil
	}
	if err := h.await(ctx, func(error) bool { return false }); err != nil {
		return nil // the context has ended
	}
	for _, api := range watchedAPIs() {
		if served, err := serves(ctx, h.client.Discovery(), api.resource); err == nil && !served {
			return fmt.Errorf("the cluster is available but does not serve %s; restart the server to run without it",
				api.resource)
		}
	}
	close(h.found)
	return nil
}

// await polls the host until it is available, ends returns true for an error, or the context ends. It returns the last
// error.
func (h *extendedHost) await(ctx context.Context, ends func(error) bool) error {
	logger := klog.FromContext(ctx).WithValues("address", h.address)
	var last error
	_ = wait.PollUntilContextCancel(ctx, hostInterval, true, func(ctx context.Context) (bool, error) {
		err := h.probe(ctx)
		if err != nil && !ends(err) && last == nil {
			logger.Info("Waiting for the cluster", "err", err)
		}
		last = err
		h.setMissing(err)
		return err == nil || ends(err), nil
	})
	return last
}

// probe reads the version of the host, and checks whether the host can be extended.
func (h *extendedHost) probe(ctx context.Context) error {
	info, err := h.client.Discovery().ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s cannot be reached: %w", h.address, err)
	}
	if err := checkAggregation(ctx, h.client, h.options.Authentication); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Extending the cluster", "address", h.address, "version", info.GitVersion)
	return nil
}

// needsChange reports whether an error of probe lasts until the host, or the server's permissions there, are
// changed.
func needsChange(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || errors.Is(err, errNotAggregating)
}

// isFound reports whether the host has come.
func (h *extendedHost) isFound() bool {
	select {
	case <-h.found:
		return true
	default:
		return false
	}
}

func (h *extendedHost) setMissing(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = err
}

// check is the readiness check of the host. Once the host has been available, the check succeeds even if it is lost.
func (h *extendedHost) check(*http.Request) error {
	if h.isFound() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.missing, errors.New("the server has not contacted the cluster yet"))
}

var errNotAggregating = errors.New("the cluster does not aggregate APIs")

const (
	authenticationConfigMap = "extension-apiserver-authentication"
	requestHeaderCAKey      = "requestheader-client-ca-file"
)

// checkAggregation checks that the host publishes which front proxy to trust, unless the options
// name one. Unlike the errors of the library, its errors say what to do.
func checkAggregation(
	ctx context.Context, client kubernetes.Interface, options *genericoptions.DelegatingAuthenticationOptions,
) error {
	if options.RequestHeader.ClientCAFile != "" || options.SkipInClusterLookup || options.TolerateInClusterLookupFailure {
		return nil
	}
	configMap, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authenticationConfigMap,
		metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("reading which front proxy of the cluster to trust: %w; bind the role "+
			"extension-apiserver-authentication-reader in namespace kube-system to the user of this process", err)
	case err != nil:
		return fmt.Errorf("reading which front proxy of the cluster to trust: %w", err)
	case configMap.Data[requestHeaderCAKey] == "":
		return fmt.Errorf("%w: ConfigMap %s/%s has no %s; start its kube-apiserver with "+
			"--requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file",
			errNotAggregating, metav1.NamespaceSystem, authenticationConfigMap, requestHeaderCAKey)
	}
	return nil
}

// watchedAPI is an API of the host that a part of the generic server watches. If the host does not
// serve it, that part would keep the server from becoming ready.
type watchedAPI struct {
	resource schema.GroupVersionResource
	plugin   string // the admission plugin that watches it, "" for priority and fairness
}

func watchedAPIs() []watchedAPI {
	return []watchedAPI{
		{resource: mutatingPoliciesResource(), plugin: mutatingpolicy.PluginName},
		{resource: validatingPoliciesResource(), plugin: validatingpolicy.PluginName},
		{resource: flowSchemasResource()},
	}
}

func mutatingPoliciesResource() schema.GroupVersionResource {
	return admissionv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicies")
}

func validatingPoliciesResource() schema.GroupVersionResource {
	return admissionv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
}

func flowSchemasResource() schema.GroupVersionResource {
	return flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")
}

// trimToHost turns off the parts of the server that watch APIs that the host does not serve. Older hosts serve fewer of
// them.
func trimToHost(
	ctx context.Context, host discovery.ServerResourcesInterfaceWithContext, options *genericoptions.RecommendedOptions,
) error {
	for _, api := range watchedAPIs() {
		served, err := serves(ctx, host, api.resource)
		if err != nil {
			return fmt.Errorf("checking whether the cluster serves %s: %w", api.resource, err)
		}
		if served {
			continue
		}
		logger := klog.FromContext(ctx).WithValues("missing", api.resource)
		switch {
		case api.plugin == "":
			options.Features.EnablePriorityAndFairness = false
			logger.Info("Serving without priority and fairness, because the cluster does not have it")
		case slices.Contains(options.Admission.EnablePlugins, api.plugin):
			return fmt.Errorf(
				"--enable-admission-plugins has %s, which needs %s, but the cluster does not serve it", api.plugin,
				api.resource)
		default:
			options.Admission.DisablePlugins = append(options.Admission.DisablePlugins, api.plugin)
			logger.Info("Serving without an admission plugin, because the cluster does not serve its API", "plugin",
				api.plugin)
		}
	}
	return nil
}

// serves reports whether the host serves a resource.
func serves(
	ctx context.Context, host discovery.ServerResourcesInterfaceWithContext, resource schema.GroupVersionResource,
) (bool, error) {
	list, err := host.ServerResourcesForGroupVersionWithContext(ctx, resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources,
		func(r metav1.APIResource) bool { return r.Name == resource.Resource }), nil
}
