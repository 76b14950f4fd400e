// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// hostTimeout bounds how long the start waits for the host. In a Pod, the network may come
	// after the process.
	hostTimeout  = 30 * time.Second
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
		return nil, fmt.Errorf("reading how to reach the cluster: %w", err)
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
		return nil, nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return client, config, nil
}

// prepareForHost waits for the host, checks that it can aggregate an API, and turns off what needs
// APIs that the host does not serve. After the start, our own API does not depend on the host.
func prepareForHost(ctx context.Context, options *genericoptions.RecommendedOptions) error {
	client, config, err := hostClient(options.CoreAPI)
	if err != nil {
		return err
	}
	version, err := awaitHost(ctx, client.Discovery(), config.Host)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Extending the cluster", "address", config.Host, "version", version)
	if err := checkAggregation(ctx, client, options.Authentication); err != nil {
		return err
	}
	return trimToHost(ctx, client.Discovery(), options)
}

// awaitHost waits until the host answers, and returns its version.
func awaitHost(ctx context.Context, host discovery.ServerVersionInterface, address string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	var last error
	err = wait.PollUntilContextCancel(ctx, hostInterval, true, func(ctx context.Context) (bool, error) {
		info, err := host.ServerVersion()
		if err == nil {
			version = info.GitVersion
			return true, nil
		}
		if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
			return false, err
		}
		if last == nil {
			klog.FromContext(ctx).Info("Waiting for the cluster", "address", address, "timeout", hostTimeout, "err", err)
		}
		last = err
		return false, nil
	})
	if err != nil {
		return "", fmt.Errorf("cluster %s cannot be reached: %w", address, errors.Join(last, err))
	}
	return version, nil
}

const (
	authenticationConfigMap = "extension-apiserver-authentication"
	requestHeaderCAKey      = "requestheader-client-ca-file"
)

// checkAggregation checks that the host publishes which front proxy to trust, unless the options
// name one. Unlike the errors of the library, its errors say what to do.
func checkAggregation(ctx context.Context, client kubernetes.Interface, options *genericoptions.DelegatingAuthenticationOptions) error {
	if options.RequestHeader.ClientCAFile != "" || options.SkipInClusterLookup || options.TolerateInClusterLookupFailure {
		return nil
	}
	configMap, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("reading which front proxy of the cluster to trust: %w; bind the role "+
			"extension-apiserver-authentication-reader in namespace kube-system to the user of this process", err)
	case err != nil:
		return fmt.Errorf("reading which front proxy of the cluster to trust: %w", err)
	case configMap.Data[requestHeaderCAKey] == "":
		return fmt.Errorf("the cluster does not aggregate APIs: ConfigMap %s/%s has no %s; start its kube-apiserver with "+
			"--requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file",
			metav1.NamespaceSystem, authenticationConfigMap, requestHeaderCAKey)
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
		{resource: flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")},
	}
}

func mutatingPoliciesResource() schema.GroupVersionResource {
	return admissionv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicies")
}

func validatingPoliciesResource() schema.GroupVersionResource {
	return admissionv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
}

// trimToHost turns off what watches APIs that the host does not serve, and cannot wait for them. Older
// hosts serve fewer of them.
func trimToHost(ctx context.Context, host servedResources, options *genericoptions.RecommendedOptions) error {
	for _, api := range watchedAPIs() {
		served, err := serves(ctx, host, api.resource)
		if err != nil {
			return fmt.Errorf("asking the cluster whether it serves %s: %w", api.resource, err)
		}
		if served {
			continue
		}
		logger := klog.FromContext(ctx).WithValues("missing", api.resource)
		switch {
		case api.plugin == "":
			options.Features.EnablePriorityAndFairness = false
			logger.Info("Serving without priority and fairness, since the cluster does not have it")
		case slices.Contains(options.Admission.EnablePlugins, api.plugin):
			return fmt.Errorf("--enable-admission-plugins has %s, which needs %s, which the cluster does not serve", api.plugin, api.resource)
		default:
			logger.Info("Serving without an admission plugin until the cluster has it", "plugin", api.plugin)
		}
	}
	return nil
}

// serves reports whether the host serves a resource.
func serves(ctx context.Context, host servedResources, resource schema.GroupVersionResource) (bool, error) {
	list, err := host.ServerResourcesForGroupVersionWithContext(ctx, resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }), nil
}
