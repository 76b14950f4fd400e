// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// knownCA is a CA bundle that may not be there yet.
type knownCA struct {
	dynamiccertificates.CAContentProvider
	bundle []byte
}

func (k knownCA) CurrentCABundleContent() []byte { return k.bundle }

func TestCertificatesAreJudgedOnlyWhenTheCAIsKnown(t *testing.T) {
	withCertificate := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	tests := map[string]struct {
		tls    *tls.ConnectionState
		bundle string
		want   int
	}{
		"a certificate before the CA is known":  {withCertificate, "", http.StatusServiceUnavailable},
		"a certificate when the CA is known":    {withCertificate, "bundle", http.StatusOK},
		"no certificate before the CA is known": {&tls.ConnectionState{}, "", http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := refuseUnknownCertificates(knownCA{bundle: []byte(test.bundle)},
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
