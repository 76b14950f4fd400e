// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// HookResolver resolves the host names of hooks as they are resolved when hooks are called.
type HookResolver struct {
	// Lookup returns the addresses of a name, as net.Resolver.LookupNetIP does.
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
	// Proxy returns the proxy of a request, or nil if there is none, as http.Transport.Proxy does.
	// Proxies resolve names themselves.
	Proxy func(*http.Request) (*url.URL, error)
	// Denied holds the networks that hooks are not called in.
	Denied hookaddress.Denied
}

// warnings returns warnings about hooks whose host has no address, or only denied ones. Each name
// is looked up once.
func (r HookResolver) warnings(ctx context.Context, c *controller) (warnings []string) {
	problems := make([]string, len(c.hooks))
	lookUp := map[string]func() string{}
	var group sync.WaitGroup
	for i, hook := range c.hooks {
		name := hook.webhook.Address().DialedHost()
		if !hook.called || name == "" || isAddress(name) || r.hasProxy(hook.address()) {
			continue
		}
		if lookUp[name] == nil {
			lookUp[name] = sync.OnceValue(func() string { return r.problem(ctx, name) })
		}
		once := lookUp[name]
		group.Go(func() { problems[i] = once() })
	}
	group.Wait()
	for i, text := range problems {
		if text != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s", c.hooks[i].addressPath(), text))
		}
	}
	return warnings
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (r HookResolver) hasProxy(address string) bool {
	target, err := url.Parse(address)
	if err != nil {
		return false
	}
	proxy, err := r.Proxy(&http.Request{URL: target})
	return proxy != nil || err != nil
}

// problem returns why hooks cannot be called at a name. It returns "" if they can be, or if that is
// not known.
func (r HookResolver) problem(ctx context.Context, name string) string {
	addresses, err := r.Lookup(ctx, "ip", name)
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		return fmt.Sprintf("the host %q cannot be resolved where the server runs, so the hook cannot be called until it can", name)
	}
	for _, address := range addresses {
		if err := r.Denied.Check(address); err == nil {
			return ""
		}
	}
	if err == nil && len(addresses) > 0 {
		return fmt.Sprintf("the host %q leads to %s, and %s", name, addresses[0].Unmap(), r.Denied.Check(addresses[0]))
	}
	return ""
}
