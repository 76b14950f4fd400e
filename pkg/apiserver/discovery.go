// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// allowDiscovery lets every authenticated user read API discovery without asking the host, as the
// role system:discovery does at the host. The host cannot delete namespaces while the discovery of
// any API server fails, so ours must not fail when the host is slow or out of reach.
func allowDiscovery(authorization *genericapiserver.AuthorizationInfo) error {
	if authorization.Authorizer == nil {
		return nil
	}
	both, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "metacontroller.k8s.io/discovery", Authorizer: authorizer.AuthorizerFunc(authorizeDiscovery)},
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
