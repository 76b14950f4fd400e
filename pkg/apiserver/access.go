// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
)

// awaitFrontProxy refuses callers with a client certificate until the server knows which front proxy to trust, which it
// reads only after it has begun to serve. Without this, it would treat the front proxy of the host, and thus every user
// behind it, as anonymous, and answer 403, which clients do not retry. Clients retry 503.
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
			http.Error(w, "the server has just started and does not know yet which client certificates to trust",
				http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// installFrontProxyHealth makes the server not ready while it refuses the front proxy.
func installFrontProxyHealth(
	server *genericapiserver.GenericAPIServer, header *authenticatorfactory.RequestHeaderConfig,
) error {
	if header == nil {
		return nil
	}
	return server.AddReadyzChecks(healthz.NamedCheck("front-proxy-ca", func(*http.Request) error {
		if !isKnown(header) {
			return errors.New("the server does not know yet which front proxy to trust")
		}
		return nil
	}))
}

// isKnown reports whether the authority of the front proxy's certificate and the header with the user name are known.
func isKnown(header *authenticatorfactory.RequestHeaderConfig) bool {
	return len(header.CAContentProvider.CurrentCABundleContent()) > 0 && len(header.UsernameHeaders.Value()) > 0
}

// allowDiscovery lets every authenticated user read API discovery without asking the host, as the
// role system:discovery does at the host. The host cannot delete namespaces while the discovery of
// any API server fails, so ours must not fail when the host is slow or out of reach.
func allowDiscovery(authorization *genericapiserver.AuthorizationInfo) error {
	if authorization.Authorizer == nil {
		return nil
	}
	both, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "metacontroller.k8s.io/discovery",
			Authorizer: authorizer.AuthorizerFunc(authorizeDiscovery)},
		union.NamedAuthorizer{AuthorizerName: "metacontroller.k8s.io/delegated", Authorizer: authorization.Authorizer},
	)
	if err != nil {
		return err
	}
	authorization.Authorizer = both
	return nil
}

func authorizeDiscovery(_ context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if !request.IsResourceRequest() && request.GetVerb() == "get" && isDiscoveryPath(request.GetPath()) &&
		request.GetUser() != nil && slices.Contains(request.GetUser().GetGroups(), user.AllAuthenticated) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func isDiscoveryPath(path string) bool {
	for _, root := range []string{"/apis", "/openapi", "/version"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}
