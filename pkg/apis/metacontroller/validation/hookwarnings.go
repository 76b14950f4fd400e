// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

func (w *warnings) hooks(sync, finalize, customize *v1alpha1.Hook, path *field.Path) {
	if !sync.IsCalled() {
		w.add(path.Child("sync"), "has no webhook, so the server only finalizes parents")
	}
	if customize != nil && !customize.IsCalled() {
		w.add(path.Child("customize"), "has no webhook, so the server never calls it")
	}
	w.hookVersions(sync, finalize, customize, path)
	for _, hook := range namedHooks(sync, finalize, customize) {
		w.webhook(hook.webhook, path.Child(hook.name, "webhook"))
	}
}

func (w *warnings) webhook(webhook *v1alpha1.Webhook, path *field.Path) {
	if webhook.Address().HasURL() {
		w.url(webhook, path)
	} else {
		w.service(webhook, path)
	}
	if timeout := webhook.Timeout; timeout != nil {
		if length, err := timeout.Parse(); err == nil && length <= 0 {
			w.add(path.Child("timeout"), "is not positive, so the server uses 10s")
		}
	}
	if webhook.Etag != nil {
		w.etag(webhook.Etag, path.Child("etag"))
	}
	w.caBundle(webhook.CABundle, path.Child("caBundle"))
	if address := addressOf(webhook); address != nil && address.Scheme == "http" {
		if webhook.CABundle != nil {
			w.add(path.Child("caBundle"), "has no effect: the address of the webhook is not https")
		}
		if webhook.ClientTLS != nil {
			w.add(path.Child("clientTLS"), "has no effect: the address of the webhook is not https")
		}
	}
}

func (w *warnings) etag(etag *v1alpha1.WebhookEtagConfig, path *field.Path) {
	switch timeout := etag.CacheTimeoutSeconds; {
	case (etag.Enabled == nil || !*etag.Enabled) && (timeout != nil || etag.CacheCleanupSeconds != nil):
		w.add(path, "has no effect: enabled is not true")
	case timeout != nil && *timeout < 0:
		w.add(path.Child("cacheTimeoutSeconds"), "is negative, so the server keeps answers without a time limit")
	}
}

func (w *warnings) url(webhook *v1alpha1.Webhook, path *field.Path) {
	if webhook.Service != nil {
		w.add(path.Child("service"), "has no effect, because url is set")
	}
	if webhook.Path != nil {
		w.add(path.Child("path"), "has no effect, because url is set")
	}
	address, err := url.Parse(*webhook.URL)
	if err != nil {
		return
	}
	switch path := path.Child("url"); {
	case address.Hostname() == "":
		w.add(path, "has no host, so the server calls localhost")
	case address.Scheme == "http" && isOutside(address.Hostname()):
		w.add(path, "is plain http to a host outside the cluster: others can read and change requests and answers; use https")
	}
	if address.User != nil {
		w.add(path.Child("url"), "contains credentials, which everyone who can read this object can see; use basicAuth")
	}
}

func (w *warnings) service(webhook *v1alpha1.Webhook, path *field.Path) {
	if webhook.URL != nil && webhook.Service != nil {
		w.add(path.Child("url"), "is empty, so the server uses service and path")
	}
	switch {
	case webhook.Path == nil:
	case *webhook.Path == "":
		w.add(path.Child("path"), `is empty, so the server calls "/"`)
	case !strings.HasPrefix(*webhook.Path, "/"):
		w.add(path.Child("path"), `does not start with "/"`)
	}
	if isHTTPSOnPort80(webhook.Service) {
		w.add(path.Child("service", "port"), "is 80, which is also the default, but https is rarely served at port 80")
	}
}

func isHTTPSOnPort80(service *v1alpha1.ServiceReference) bool {
	return service != nil && service.Protocol != nil && strings.EqualFold(*service.Protocol, "https") &&
		(service.Port == nil || *service.Port == 80)
}

func (w *warnings) caBundle(bundle *v1alpha1.CABundle, path *field.Path) {
	if bundle != nil && bundle.Inline != nil && *bundle.Inline == "" {
		w.add(path.Child("inline"), "is empty, so the server trusts the certificate authorities of the system")
	}
}

func (w *warnings) endpointConfigs(configs []v1alpha1.EndpointConfig, hooks []namedHook, path *field.Path) {
	used := usedEndpoints(configs, hooks)
	for i := range configs {
		path := path.Index(i)
		if used[i] {
			w.caBundle(configs[i].CABundle, path.Child("caBundle"))
			continue
		}
		if address := withOtherPort(configs[i].Host, hooks); address != "" {
			w.add(path.Child("host"), "has no port, so it does not match %s", address)
			continue
		}
		w.add(path, "is not used: every hook with this host has its own connection settings or matches an earlier item, "+
			"or no hook has this host")
	}
}

// withOtherPort returns the host and port of a hook that a host would match if it had the same
// port. It returns "" if there is none.
func withOtherPort(host string, hooks []namedHook) string {
	for _, hook := range hooks {
		if address := addressOf(hook.webhook); address != nil && !hookaddress.MatchesHost(host, address) &&
			strings.EqualFold(host, address.Hostname()) {
			return address.Host
		}
	}
	return ""
}

// isOutside reports whether a host is likely outside the cluster and its network. A name of two parts counts as the
// name of a Service and its namespace unless it ends in a common top-level domain.
func isOutside(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsUnspecified() && !ip.IsLinkLocalUnicast()
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case len(labels) == 1, sets.New("local", "localhost", "internal", "svc").Has(last):
		return false
	case len(labels) == 2:
		return sets.New("com", "edu", "gov", "io", "net", "org").Has(last)
	default:
		return labels[2] != "svc"
	}
}

// hookVersions warns of hooks of one controller that speak different versions of the protocol.
func (w *warnings) hookVersions(sync, finalize, customize *v1alpha1.Hook, path *field.Path) {
	if finalize.IsCalled() && sync.IsCalled() && finalize.GetVersion() != sync.GetVersion() {
		w.add(path.Child("finalize", "version"), `is %q, but the version of sync is %q: set both to the same version; `+
			`with v2, keys in requests are "namespace/name" instead of "name", and unknown fields in answers are errors`,
			finalize.GetVersion(), sync.GetVersion())
	}
	shown, name := sync, "sync"
	if !sync.IsCalled() {
		shown, name = finalize, "finalize"
	}
	if !customize.IsCalled() || !shown.IsCalled() || customize.GetVersion() == shown.GetVersion() {
		return
	}
	customizes := path.Child("customize", "version")
	if customize.GetVersion() == v1alpha1.HookVersionV2 {
		w.add(customizes, `is "v2", but the %s hook has "v1" and gets no objects outside a parent's namespace: set %s to `+
			`v2; then keys in its requests are "namespace/name", and unknown fields in its answers are errors`,
			name, path.Child(name, "version"))
		return
	}
	w.add(customizes, `is "v1", but the %s hook has "v2": customize cannot select objects outside a parent's `+
		`namespace; to allow this, set it to v2; then unknown fields in its answers are errors`, name)
}
