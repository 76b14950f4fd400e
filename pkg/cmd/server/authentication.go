// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
)

// delegateAuthentication lets the host authenticate requests. It works like ApplyTo of the options, but does not need
// the host at the start: it reads the settings of client certificates that the host publishes when the host is
// available, and whenever they change.
func delegateAuthentication(
	options *genericoptions.DelegatingAuthenticationOptions, config *genericapiserver.Config,
) error {
	if options.SkipInClusterLookup {
		return options.ApplyTo(&config.Authentication, config.SecureServing, config.OpenAPIConfig)
	}
	client, err := reviewsClient(options.RemoteKubeConfigFile)
	if err != nil {
		return err
	}
	clientCA, err := clientCertificates(options.ClientCert, client)
	if err != nil {
		return err
	}
	frontProxy, err := frontProxies(options.RequestHeader, client)
	if err != nil {
		return err
	}
	info := &config.Authentication
	if err := errors.Join(
		info.ApplyClientCert(clientCA, config.SecureServing),
		info.ApplyClientCert(frontProxy.CAContentProvider, config.SecureServing),
	); err != nil {
		return fmt.Errorf("trusting the client certificates of the cluster: %w", err)
	}
	info.RequestHeaderConfig = frontProxy
	delegate := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                          &apiserver.AnonymousAuthConfig{Enabled: true},
		CacheTTL:                           options.CacheTTL,
		WebhookRetryBackoff:                options.WebhookRetryBackoff,
		TokenAccessReviewTimeout:           options.TokenRequestTimeout,
		TokenAccessReviewClient:            client.AuthenticationV1(),
		ClientCertificateCAContentProvider: clientCA,
		RequestHeaderConfig:                frontProxy,
	}
	authenticator, definitions, err := delegate.New()
	if err != nil {
		return fmt.Errorf("creating the authenticator: %w", err)
	}
	info.Authenticator = authenticator
	if config.OpenAPIConfig != nil {
		config.OpenAPIConfig.SecurityDefinitions = definitions
	}
	return nil
}

// reviewsClient returns a client of the host without a rate limit, because each request to this server may need a
// review.
func reviewsClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := hostConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 0 // each review has its own, and watches have none
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the cluster: %w", err)
	}
	return client, nil
}

// clientCertificates returns the authority of users' certificates: from a file if the options name one, and else as
// the host publishes it.
func clientCertificates(
	options genericoptions.ClientCertAuthenticationOptions, client kubernetes.Interface,
) (dynamiccertificates.CAContentProvider, error) {
	if options != (genericoptions.ClientCertAuthenticationOptions{}) {
		provider, err := options.GetClientCAContentProvider()
		if err != nil {
			return nil, fmt.Errorf("reading the certificate authority of client certificates: %w", err)
		}
		return provider, nil
	}
	return publishedCA("client-ca", "client-ca-file", client)
}

// frontProxies returns which client may name other users, and in which headers: from the options if they name the
// authority of its certificate, or else from the settings that the host publishes.
func frontProxies(
	options genericoptions.RequestHeaderAuthenticationOptions, client kubernetes.Interface,
) (*authenticatorfactory.RequestHeaderConfig, error) {
	if options.ClientCAFile != "" {
		config, err := options.ToAuthenticationRequestHeaderConfig()
		if err != nil {
			return nil, fmt.Errorf("reading which front proxy to trust: %w", err)
		}
		return config, nil
	}
	ca, err := publishedCA("request-header-ca", requestHeaderCAKey, client)
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(authenticationConfigMap, metav1.NamespaceSystem, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names")
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   publishedFrontProxy{ca, headers},
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
	}, nil
}

func publishedCA(purpose, key string, client kubernetes.Interface) (*dynamiccertificates.ConfigMapCAController, error) {
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, metav1.NamespaceSystem,
		authenticationConfigMap, key, client)
	if err != nil {
		return nil, fmt.Errorf("watching %s of ConfigMap %s/%s: %w", key, metav1.NamespaceSystem, authenticationConfigMap,
			err)
	}
	return ca, nil
}

// publishedFrontProxy watches the settings of the front proxy that the host publishes. The server runs it, because it
// is an authority of client certificates.
type publishedFrontProxy struct {
	*dynamiccertificates.ConfigMapCAController
	headers *headerrequest.RequestHeaderAuthRequestController
}

var _ dynamiccertificates.ControllerRunner = publishedFrontProxy{}

// RunOnce reads the cache. It sends no request to the host, because the listener waits for RunOnce.
func (p publishedFrontProxy) RunOnce(ctx context.Context) error {
	return p.ConfigMapCAController.RunOnce(ctx)
}

// Run follows the authority and the headers until the context ends.
func (p publishedFrontProxy) Run(ctx context.Context, workers int) {
	go p.headers.Run(ctx, workers)
	p.ConfigMapCAController.Run(ctx, workers)
}
