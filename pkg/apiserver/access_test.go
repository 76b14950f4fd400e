// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// knownCA is a CA bundle that may not be there yet.
type knownCA struct {
	dynamiccertificates.CAContentProvider
	bundle []byte
}

func (k knownCA) CurrentCABundleContent() []byte { return k.bundle }

func TestCertificatesAreJudgedOnlyWhenTheFrontProxyIsKnown(t *testing.T) {
	withCertificate := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	tests := map[string]struct {
		tls     *tls.ConnectionState
		bundle  string
		headers []string
		want    int
	}{
		"a certificate before anything is known":      {withCertificate, "", nil, http.StatusServiceUnavailable},
		"a certificate before the CA is known":        {withCertificate, "", []string{"X-Remote-User"}, http.StatusServiceUnavailable},
		"a certificate before the headers are known":  {withCertificate, "bundle", nil, http.StatusServiceUnavailable},
		"a certificate when the front proxy is known": {withCertificate, "bundle", []string{"X-Remote-User"}, http.StatusOK},
		"no certificate before anything is known":     {&tls.ConnectionState{}, "", nil, http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			header := &authenticatorfactory.RequestHeaderConfig{
				CAContentProvider: knownCA{bundle: []byte(test.bundle)},
				UsernameHeaders:   headerrequest.StaticStringSlice(test.headers),
			}
			handler := refuseUnknownCertificates(header,
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
			request := httptest.NewRequest(http.MethodGet, "/apis", nil)
			request.TLS = test.tls
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			if recorder.Code != test.want {
				t.Errorf("the answer should be %d, but is %d", test.want, recorder.Code)
			}
		})
	}
}

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
