// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
)

// awaitFrontProxy refuses callers with a client certificate until it is known which front proxy to
// trust. That is read only after the server has begun to serve. Until then it would take the front
// proxy of the host, and so every user behind it, for anonymous, and answer 403, which clients do not
// retry. It answers 503, which they retry.
func awaitFrontProxy(config *genericapiserver.Config) {
	header := config.Authentication.RequestHeaderConfig
	if header == nil {
		return
	}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return refuseUnknownCertificates(header, build(handler, config))
	}
}

func refuseUnknownCertificates(header *authenticatorfactory.RequestHeaderConfig, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && !isKnown(header) {
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
		if !isKnown(header) {
			return errors.New("it is not known yet which front proxy to trust")
		}
		return nil
	}))
}

// isKnown reports whether both are known that a front proxy is told by: who signs its certificate, and
// the header in which it names the user.
func isKnown(header *authenticatorfactory.RequestHeaderConfig) bool {
	return len(header.CAContentProvider.CurrentCABundleContent()) > 0 && len(header.UsernameHeaders.Value()) > 0
}
