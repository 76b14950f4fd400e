// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

func TestWhoMayDiscoverTheAPIWithoutTheHost(t *testing.T) {
	somebody := &user.DefaultInfo{Name: "somebody", Groups: []string{user.AllAuthenticated}}
	nobody := &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	tests := map[string]struct {
		request authorizer.AttributesRecord
		allowed bool
	}{
		"somebody sees the list of groups":         {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/apis"}, true},
		"somebody sees the resources":              {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/apis/metacontroller.k8s.io/v1alpha1"}, true},
		"somebody sees the OpenAPI document":       {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/openapi/v3/apis/metacontroller.k8s.io/v1alpha1"}, true},
		"somebody sees the version":                {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/version"}, true},
		"somebody cannot write there":              {authorizer.AttributesRecord{User: somebody, Verb: "post", Path: "/apis"}, false},
		"somebody cannot see metrics":              {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/metrics"}, false},
		"somebody cannot see a similar path":       {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/apisecret"}, false},
		"objects are another matter":               {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers", ResourceRequest: true}, false},
		"one who did not say who he is cannot":     {authorizer.AttributesRecord{User: nobody, Verb: "get", Path: "/apis"}, false},
		"one of whom nothing is known at all":      {authorizer.AttributesRecord{Verb: "get", Path: "/apis"}, false},
		"what the host allows remains allowed":     {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/allowed-by-host"}, true},
		"what the cluster refuses remains refused": {authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/other"}, false},
	}
	host := authorizer.AuthorizerFunc(func(_ context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
		if request.GetPath() == "/allowed-by-host" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", errors.New("host is out of reach")
	})
	authorization := genericapiserver.AuthorizationInfo{Authorizer: host}
	if err := allowDiscovery(&authorization); err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decision, _, err := authorization.Authorizer.Authorize(t.Context(), test.request)
			if allowed := decision == authorizer.DecisionAllow; allowed != test.allowed {
				t.Errorf("allowed: %t (error %v), want %t", allowed, err, test.allowed)
			}
		})
	}
}
