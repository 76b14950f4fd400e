// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"

	"github.com/metacontroller/metacontroller-apiserver/pkg/peers"
)

// Peers are other replicas of this server. A nil one has none.
type Peers struct {
	// Handler serves them.
	Handler http.Handler
	// User returns the user that all replicas are at the host.
	User func(ctx context.Context) (string, error)
}

// allow adds an authorizer for the paths of peers. It allows the user that all replicas have at the host, and denies all others. The
// RBAC rules of the host do not count for these paths: a cluster administrator must not read the memory of controllers there.
func (p *Peers) allow(config *genericapiserver.Config) error {
	if p == nil || config.Authorization.Authorizer == nil {
		return nil
	}
	both, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "metacontroller.k8s.io/peers", Authorizer: authorizer.AuthorizerFunc(p.authorize)},
		union.NamedAuthorizer{AuthorizerName: "metacontroller.k8s.io/others", Authorizer: config.Authorization.Authorizer},
	)
	if err != nil {
		return err
	}
	config.Authorization.Authorizer = both
	isLong := config.LongRunningFunc
	config.LongRunningFunc = func(r *http.Request, info *request.RequestInfo) bool { return peers.IsStream(r) || isLong(r, info) }
	return nil
}

func (p *Peers) authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if asked.IsResourceRequest() || !strings.HasPrefix(asked.GetPath(), peers.Path) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	user, err := p.User(ctx)
	if err != nil {
		return authorizer.DecisionDeny, "this replica could not find out who it is", fmt.Errorf("finding out as whom this replica acts: %w", err)
	}
	if asked.GetUser() == nil || asked.GetUser().GetName() != user {
		return authorizer.DecisionDeny, "this path is for other replicas of the server only", nil
	}
	return authorizer.DecisionAllow, "", nil
}

func (p *Peers) install(into *mux.PathRecorderMux) {
	if p != nil {
		into.HandlePrefix(peers.Path, p.Handler)
	}
}
