// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"net"
	"net/url"
	"syscall"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestAHookThatCannotBeReached(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "hooks.example", Server: "10.0.0.10:53", IsNotFound: true}}
	byURL := v1alpha1.Webhook{URL: ptr.To("http://hooks.example:8080/sync")}
	byService := v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools", Port: ptr.To(int32(80))}, Path: ptr.To("/sync")}
	for name, test := range map[string]struct {
		spec v1alpha1.Webhook
		at   string
		err  error
		want string
	}{
		"nothing listens": {
			byURL, "http://hooks.example:8080/sync", refused,
			"nothing listens at hooks.example:8080: correct host and port in spec.hooks.sync.webhook.url, or start the hook",
		},
		"nothing listens at the port of a Service": {
			byService, "http://hooks.tools:80/sync", refused,
			"nothing listens at hooks.tools:80: correct host and port in spec.hooks.sync.webhook.service, or start the hook",
		},
		"nothing listens where it redirects to": {
			byURL, "https://other.example/", refused,
			"nothing listens at other.example:443: correct host and port where the hook redirects to, or start the hook",
		},
		"its name is unknown": {
			byURL, "http://hooks.example:8080/sync", unknown,
			`the host "hooks.example" cannot be resolved where the server runs: ` +
				"correct it in spec.hooks.sync.webhook.url if it is misspelt, or create its Service or DNS name",
		},
		"a name server does not answer":     {byURL, "http://hooks.example:8080/sync", &net.DNSError{Err: "server misbehaving", Name: "hooks.example"}, ""},
		"nothing listens where a proxy was": {byURL, "http://hooks.example:8080/sync", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hook, err := New(Sync, &v1alpha1.Hook{Webhook: &test.spec}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer hook.Close()
			if got := hook.connectionHint(&url.Error{Op: "Post", URL: test.at, Err: test.err}); got != test.want {
				t.Errorf("error is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
