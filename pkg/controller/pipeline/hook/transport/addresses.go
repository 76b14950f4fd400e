// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// denyingTransport is a transport that does not connect to denied addresses. It checks the URL of each request,
// redirects included, and the addresses that a name resolves to.
type denyingTransport struct {
	*http.Transport
	denied hookaddress.Denied
	// hookDialer dials only addresses that are not denied. proxyDialer dials any address, because
	// proxies are chosen by the operator of the server and not by the author of a controller.
	hookDialer, proxyDialer net.Dialer
	// dialed is the host that is dialed for host. Requests, TLS and metrics know only host.
	host, dialed string
}

// newDenyingTransport replaces the dialer of a transport.
func newDenyingTransport(transport *http.Transport, denied hookaddress.Denied) *denyingTransport {
	defaults := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t := &denyingTransport{Transport: transport, denied: denied, hookDialer: defaults, proxyDialer: defaults}
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
	return t.hookDialer.DialContext(ctx, network, t.dialedAddress(address))
}

// dialedAddress returns the host and the port to dial for the host and the port of a URL.
func (t *denyingTransport) dialedAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || t.dialed == "" || !strings.EqualFold(host, t.host) {
		return address
	}
	return net.JoinHostPort(t.dialed, port)
}

// checkResolved checks an address that a name has resolved to, before anything is sent there.
func (t *denyingTransport) checkResolved(_, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return t.denied.Check(resolved.Addr())
}

// RoundTrip implements http.RoundTripper. If a proxy resolves the name, the proxy has to check the
// address.
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

// checkURL returns an error if the URL of a request has a denied address. Otherwise it reports
// whether the request goes through a proxy.
func (t *denyingTransport) checkURL(request *http.Request) (proxied bool, err error) {
	if err := t.denied.CheckHost(request.URL.Hostname()); err != nil || t.Proxy == nil {
		return false, err
	}
	proxy, err := t.Proxy(request)
	return proxy != nil, err
}

// maxRedirects is the limit of net/http.
const maxRedirects = 10

// Redirects says which redirects of a hook to follow.
type Redirects string

const (
	// SameHost follows redirects that stay on the host of the hook, with any scheme and port. So a hook cannot make the
	// server read from hosts that only the server reaches.
	SameHost Redirects = "same-host"
	// AnyHost follows all redirects.
	AnyHost Redirects = "any-host"
)

// Check is the CheckRedirect of a client that calls hooks. It removes the parts of the next request that its target
// must not see: the query of the URL that redirects, and, once a redirect has led from https to http, the credentials.
func (r Redirects) Check(next *http.Request, via []*http.Request) error {
	if r != AnyHost && !strings.EqualFold(next.URL.Hostname(), via[0].URL.Hostname()) {
		return fmt.Errorf("the hook redirects to another host, %q, which the server does not follow (--hook-redirects): "+
			"make the hook answer without a redirect, or set its url to that host", next.URL.Host)
	}
	next.Header.Del("Referer")
	isPlain := func(request *http.Request) bool { return request.URL.Scheme != "https" }
	if !isPlain(via[0]) && (isPlain(next) || slices.ContainsFunc(via, isPlain)) {
		next.Header.Del("Authorization")
	}
	if len(via) >= maxRedirects {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}
