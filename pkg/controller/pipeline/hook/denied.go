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

// guarded is a transport that reaches no address that is denied: not by the URL of a request, redirects included, and not
// by what a name in it stands for when it is called.
type guarded struct {
	*http.Transport
	denied hookaddress.Denied
	// hooks dials addresses that are not denied. proxies dials any: which proxies there are is said by who runs the
	// server, and not by who writes a controller.
	hooks, proxies net.Dialer
}

// guard takes over the dialling of a transport.
func guard(transport *http.Transport, denied hookaddress.Denied) *guarded {
	asGoDoes := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	g := &guarded{Transport: transport, denied: denied, hooks: asGoDoes, proxies: asGoDoes}
	g.hooks.Control = g.checkDialled
	transport.DialContext = g.dial
	return g
}

// toProxy marks the context of a request that goes to a proxy.
type toProxy struct{}

func (g *guarded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if ctx.Value(toProxy{}) != nil {
		return g.proxies.DialContext(ctx, network, address)
	}
	return g.hooks.DialContext(ctx, network, address)
}

// checkDialled checks an address that a name has been resolved to. Nothing has been sent there yet.
func (g *guarded) checkDialled(_, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return g.denied.Check(resolved.Addr())
}

// RoundTrip implements http.RoundTripper. A name that a proxy resolves is for the proxy to check.
func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	proxied, err := g.admit(request)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	if proxied {
		request = request.WithContext(context.WithValue(request.Context(), toProxy{}, true))
	}
	return g.Transport.RoundTrip(request)
}

// admit tells whether a request goes to a proxy, if its URL has no address that is denied.
func (g *guarded) admit(request *http.Request) (proxied bool, err error) {
	if err := g.denied.CheckHost(request.URL.Hostname()); err != nil || g.Proxy == nil {
		return false, err
	}
	proxy, err := g.Proxy(request)
	return proxy != nil, err
}
