// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// ServeGuarded starts a hook that is called by https and requires a header Authorization. Authority
// is the certificate, in PEM, of the authority that issued the serving certificate.
func ServeGuarded(t testing.TB, authorization string, handler Handler) (server *Server, authority []byte) {
	t.Helper()
	made, err := pki.NewAuthority("hooks")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := made.Serving(net.IPv4(127, 0, 0, 1), "hooks.example")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(serving.Cert, serving.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := func() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{pair}} }
	return ServeTLS(t, config, func(ctx context.Context, call Call) Answer {
		if call.Header.Get("Authorization") != authorization {
			return Text(http.StatusForbidden, "refused")
		}
		return handler(ctx, call)
	}), made.Cert
}
