// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
	genericapiserver "k8s.io/apiserver/pkg/server"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// The server is the one of k8s.io/apiserver, which runs the provider and listens to it.
func TestARunningServerRenewsItsCertificateWithoutARestart(t *testing.T) {
	dir := t.TempDir()
	clock := clocktesting.NewFakeClock(time.Now())
	provider := newProvider(t, Config{Dir: dir, DNSNames: someNames, Clock: clock})
	address := serve(t, provider)

	// A client of one authority, which it never learns anew.
	roots := authorityOf(t, dir)
	serial := func() string {
		connection, err := tls.Dial("tcp", address, &tls.Config{
			RootCAs: roots, ServerName: someNames[0], Time: clock.Now, MinVersion: tls.VersionTLS12,
		})
		if err != nil {
			t.Fatalf("the client does not trust the server: %v", err)
		}
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()

	eventually(t, "the provider runs", clock.HasWaiters)
	clock.Step(servingLife * 3 / 4)
	eventually(t, "the server shows a new certificate", func() bool { return serial() != first })
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	dir := t.TempDir()
	address := serve(t, newProvider(t, Config{Dir: dir, DNSNames: someNames}))
	connection, err := tls.Dial("tcp", address, &tls.Config{
		RootCAs: authorityOf(t, dir), ServerName: someNames[0], MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	if err == nil {
		connection.Close()
		t.Error("TLS 1.1 was accepted")
	}
}

func serve(t *testing.T, provider *Provider) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving := &genericapiserver.SecureServingInfo{Listener: listener, Cert: provider}
	ctx, cancel := context.WithCancel(context.Background())
	stopped, listenerStopped, err := serving.Serve(http.NotFoundHandler(), time.Second, ctx.Done())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		<-listenerStopped
		<-stopped
	})
	return listener.Addr().String()
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("not within 30s: %s", what)
		case <-tick.C:
		}
	}
}
