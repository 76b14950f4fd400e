// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A name of two parts can be a public one, which answers while the Service does not exist. What the hook
// sees of its name stays as it is.
func TestAServiceIsLookedUpInTheClusterAlone(t *testing.T) {
	var host, serverName string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host = r.Host
		_, _ = io.WriteString(w, "{}")
	}))
	server.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		serverName = hello.ServerName
		return nil, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	webhook := &v1alpha1.Webhook{Path: ptr.To("/sync"),
		Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "dev", Port: &port, Protocol: ptr.To("https")}}
	target, err := webhook.Address().Parse()
	if err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	var asked []string
	names := startNames(t)
	names.lead("127.0.0.1")
	made := New("sync", webhook, target, nil, Options{})
	t.Cleanup(made.Close)
	made.shared.transport.TLSClientConfig.InsecureSkipVerify = true
	ask := func(ctx context.Context, network, at string) (net.Conn, error) {
		connection, err := names.dial(ctx, network, at)
		if err != nil {
			return nil, err
		}
		return &recordedQuestions{UDPConn: connection.(*net.UDPConn), asked: func(name string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, name)
		}}, nil
	}
	made.shared.transport.hookDialer.Resolver = &net.Resolver{PreferGo: true, Dial: ask}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.String(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := made.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if want := target.Host; host != want || serverName != "hooks.dev" {
		t.Errorf("the hook is called as %q, and as %q by TLS; want %q and hooks.dev", host, serverName, want)
	}
	isOfCluster := func(name string) bool { return strings.HasPrefix(name, "hooks.dev.svc.") }
	if len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool { return !isOfCluster(name) }) {
		t.Errorf("looked up was %q", asked)
	}
}

// recordedQuestions is a connection to a DNS server that tells the names that are asked for.
type recordedQuestions struct {
	*net.UDPConn
	asked func(name string)
}

func (c *recordedQuestions) Write(question []byte) (int, error) {
	var name strings.Builder
	for at := 12; at < len(question) && question[at] != 0; at += 1 + int(question[at]) {
		_, _ = name.Write(question[at+1 : at+1+int(question[at])])
		_ = name.WriteByte('.')
	}
	c.asked(name.String())
	return c.UDPConn.Write(question)
}
