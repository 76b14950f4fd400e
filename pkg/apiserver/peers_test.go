// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

func TestOnlyTheServerItselfIsAPeer(t *testing.T) {
	for name, test := range map[string]struct {
		path, user string
		groups     []string
		err        error
		want       authorizer.Decision
	}{
		"another replica":                 {path: "/metacontroller-peers/v1/syncs", user: "server", want: authorizer.DecisionAllow},
		"an administrator":                {path: "/metacontroller-peers/v1/syncs", user: "root", groups: []string{user.SystemPrivilegedGroup}, want: authorizer.DecisionDeny},
		"anybody, if nobody knows who":    {path: "/metacontroller-peers/v1/syncs", user: "server", err: errors.New("no answer"), want: authorizer.DecisionDeny},
		"an administrator at other paths": {path: "/metrics", user: "root", want: authorizer.DecisionAllow},
	} {
		t.Run(name, func(t *testing.T) {
			config := &genericapiserver.Config{Authorization: genericapiserver.AuthorizationInfo{Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer()}}
			peers := &Peers{User: func(context.Context) (string, error) { return "server", test.err }}
			if err := peers.allow(config); err != nil {
				t.Fatal(err)
			}
			got, _, _ := config.Authorization.Authorizer.Authorize(t.Context(), authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: test.user, Groups: test.groups}, Verb: "get", Path: test.path,
			})
			if got != test.want {
				t.Errorf("the decision is %v, want %v", got, test.want)
			}
		})
	}
}
