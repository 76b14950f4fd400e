// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// unreachable returns what to do about a request that no connection could be made for, because nothing
// is at that address; empty if the error is about something else, or about a proxy.
func (w *Webhook) unreachable(at *url.URL, err error) string {
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "proxyconnect" {
		return ""
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Sprintf("nothing listens at %s: %s, or start the hook", hostAndPort(at), w.correct(at, "host and port"))
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		return fmt.Sprintf("the host %q cannot be resolved where the server runs: %s if it is misspelt, "+
			"or create its Service or DNS name",
			at.Hostname(), w.correct(at, "it"))
	}
	return ""
}

// correct says where a part of an address is corrected. A redirect is none of the spec.
func (w *Webhook) correct(at *url.URL, part string) string {
	if at.Host != w.endpoint.Host {
		return fmt.Sprintf("correct %s where the hook redirects to", part)
	}
	return fmt.Sprintf("correct %s in %s", part, w.addressField)
}

func hostAndPort(at *url.URL) string {
	usual := "80"
	if at.Scheme == "https" {
		usual = "443"
	}
	return net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), usual))
}

// addressField returns the field of the spec that has the address of a hook.
func addressField(name string, spec *v1alpha1.Webhook) string {
	if hasURL(spec) {
		return fmt.Sprintf("spec.hooks.%s.webhook.url", name)
	}
	return fmt.Sprintf("spec.hooks.%s.webhook.service", name)
}

func hasURL(spec *v1alpha1.Webhook) bool { return spec.URL != nil && *spec.URL != "" }
