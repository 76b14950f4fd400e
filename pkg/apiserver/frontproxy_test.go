// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
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
