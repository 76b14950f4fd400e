// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// denyingTransport is a transport that reaches no address that is denied: not by the URL of a request, redirects included, and not
// by what a name in it stands for when it is called.
type denyingTransport struct {
	*http.Transport
	denied hookaddress.Denied
	// hookDialer dials addresses that are not denied. proxies dials any: which proxies there are is said by who runs the
	// server, and not by who writes a controller.
	hookDialer, proxyDialer net.Dialer
}

// newDenyingTransport takes over the dialling of a transport.
func newDenyingTransport(transport *http.Transport, denied hookaddress.Denied) *denyingTransport {
	asGoDoes := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t := &denyingTransport{Transport: transport, denied: denied, hookDialer: asGoDoes, proxyDialer: asGoDoes}
	t.hookDialer.Control = t.checkResolved
	transport.DialContext = t.dial
	return t
}

// toProxy marks the context of a request that goes to a proxy.
type toProxy struct{}

func (t *denyingTransport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if ctx.Value(toProxy{}) != nil {
		return t.proxyDialer.DialContext(ctx, network, address)
	}
	return t.hookDialer.DialContext(ctx, network, address)
}

// checkResolved checks an address that a name has been resolved to. Nothing has been sent there yet.
func (t *denyingTransport) checkResolved(_, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return t.denied.Check(resolved.Addr())
}

// RoundTrip implements http.RoundTripper. A name that a proxy resolves is for the proxy to check.
func (t *denyingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	proxied, err := t.checkURL(request)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	if proxied {
		request = request.WithContext(context.WithValue(request.Context(), toProxy{}, true))
	}
	return t.Transport.RoundTrip(request)
}

// checkURL tells whether a request goes to a proxy, if its URL has no address that is denied.
func (t *denyingTransport) checkURL(request *http.Request) (proxied bool, err error) {
	if err := t.denied.CheckHost(request.URL.Hostname()); err != nil || t.Proxy == nil {
		return false, err
	}
	proxy, err := t.Proxy(request)
	return proxy != nil, err
}
