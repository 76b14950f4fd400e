// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
)

// awaitFrontProxyCA refuses callers with a client certificate until the authority of the front
// proxy is known. The library reads that authority only after it has begun to serve. Until then it
// would take the front proxy of the host, and so every user behind it, for anonymous, and answer
// 403, which clients do not retry. It answers 503, which they retry.
func awaitFrontProxyCA(config *genericapiserver.Config) {
	header := config.Authentication.RequestHeaderConfig
	if header == nil {
		return
	}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return refuseUnknownCertificates(header.CAContentProvider, build(handler, config))
	}
}

func refuseUnknownCertificates(ca dynamiccertificates.CAContentProvider, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && len(ca.CurrentCABundleContent()) == 0 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "the server has just started and does not know yet which client certificates to trust", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// installFrontProxyHealth makes the server not ready while it refuses the front proxy.
func installFrontProxyHealth(server *genericapiserver.GenericAPIServer, header *authenticatorfactory.RequestHeaderConfig) error {
	if header == nil {
		return nil
	}
	return server.AddReadyzChecks(healthz.NamedCheck("front-proxy-ca", func(*http.Request) error {
		if len(header.CAContentProvider.CurrentCABundleContent()) == 0 {
			return errors.New("it is not known yet which front proxy to trust")
		}
		return nil
	}))
}
