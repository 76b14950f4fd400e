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

// HookNames is how the names of hooks are resolved when they are called.
type HookNames struct {
	// Lookup returns the addresses of a name. It is that of net.Resolver.
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
	// Proxy returns the proxy of a request, which then resolves the name; nil if there is none. It is that of
	// http.Transport.
	Proxy func(*http.Request) (*url.URL, error)
	// Denied are the networks that hooks are not called in.
	Denied hookaddress.Denied
}

type hookNames struct{ HookNames }

// warnings are about hooks whose host has no address, or one that is denied. Each name is looked up once.
func (n hookNames) warnings(ctx context.Context, c *controller) (warnings []string) {
	wrong := make([]string, len(c.hooks))
	lookUp := map[string]func() string{}
	var group sync.WaitGroup
	for i, hook := range c.hooks {
		name := hook.webhook.Address().Hostname()
		if !hook.called || name == "" || n.hasAddress(name) || n.proxied(hook.address()) {
			continue
		}
		if lookUp[name] == nil {
			lookUp[name] = sync.OnceValue(func() string { return n.wrong(ctx, name) })
		}
		once := lookUp[name]
		group.Go(func() { wrong[i] = once() })
	}
	group.Wait()
	for i, text := range wrong {
		if text != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s", c.hooks[i].addressPath(), text))
		}
	}
	return warnings
}

func (n hookNames) hasAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (n hookNames) proxied(address string) bool {
	target, err := url.Parse(address)
	if err != nil {
		return false
	}
	proxy, err := n.Proxy(&http.Request{URL: target})
	return proxy != nil || err != nil
}

// wrong tells why a hook could not be called at the name as it is; empty if it could, or if that is not known.
func (n hookNames) wrong(ctx context.Context, name string) string {
	addresses, err := n.Lookup(ctx, "ip", name)
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		return fmt.Sprintf("the host %q cannot be resolved where the server runs, so the hook cannot be called until it can", name)
	}
	for _, address := range addresses {
		if err := n.Denied.Check(address); err == nil {
			return ""
		}
	}
	if err == nil && len(addresses) > 0 {
		return fmt.Sprintf("the host %q leads to %s, and %s", name, addresses[0].Unmap(), n.Denied.Check(addresses[0]))
	}
	return ""
}
