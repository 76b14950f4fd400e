// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/url"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestHostsOfEndpointConfigs(t *testing.T) {
	tests := map[string]struct {
		host, url string
		want      bool
	}{
		"the same host":                                   {"hooks.example", "https://hooks.example/sync", true},
		"the same host by http":                           {"hooks.example", "http://hooks.example/sync", true},
		"another host":                                    {"hooks.example", "https://other.example/sync", false},
		"a part of a host":                                {"hooks.example", "https://my.hooks.example/sync", false},
		"another case":                                    {"HOOKS.Example", "https://hooks.EXAMPLE/sync", true},
		"another case, and a default port":                {"HOOKS.Example:443", "https://hooks.EXAMPLE/sync", true},
		"another case, and a default port in the URL":     {"HOOKS.Example", "https://hooks.EXAMPLE:443/sync", true},
		"the same port":                                   {"hooks.example:8443", "https://hooks.example:8443/sync", true},
		"another port":                                    {"hooks.example:8443", "https://hooks.example:8444/sync", false},
		"a port that is not the default, left out":        {"hooks.example", "https://hooks.example:8443/sync", false},
		"a port the URL does not have":                    {"hooks.example:8443", "https://hooks.example/sync", false},
		"the default port of https, left out in the URL":  {"hooks.example:443", "https://hooks.example/sync", true},
		"the default port of http, left out in the URL":   {"hooks.example:80", "http://hooks.example/sync", true},
		"the default port of https, left out in the host": {"hooks.example", "https://hooks.example:443/sync", true},
		"the default port of http, left out in the host":  {"hooks.example", "http://hooks.example:80/sync", true},
		"the default port of http, by https":              {"hooks.example:80", "https://hooks.example/sync", false},
		"the default port of http in the URL, by https":   {"hooks.example", "https://hooks.example:80/sync", false},
		"the default port of https in the URL, by http":   {"hooks.example", "http://hooks.example:443/sync", false},
		"a scheme in capitals":                            {"hooks.example:443", "HTTPS://hooks.example/sync", true},
		"a user in the URL":                               {"hooks.example", "https://user:word@hooks.example/sync", true},
		"an IPv6 address":                                 {"[::1]:8443", "https://[::1]:8443/sync", true},
		"an IPv6 address and a default port":              {"[::1]:443", "https://[::1]/sync", true},
		"an IPv6 address and a default port in the URL":   {"[::1]", "https://[::1]:443/sync", true},
		"an IPv6 address without brackets":                {"::1", "https://[::1]:443/sync", true},
		"a URL instead of a host":                         {"https://hooks.example", "https://hooks.example/sync", false},
		"a host with the beginning of the URL's path":     {"hooks.example/sync", "https://hooks.example/sync", false},
		"nothing":                      {"", "https://hooks.example/sync", false},
		"nothing but the default port": {":443", "https://hooks.example/sync", false},
		"nothing but the default port, which the URL has": {":443", "https://hooks.example:443/sync", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target, err := url.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			if got := matches(test.host, target); got != test.want {
				t.Errorf("host %s matches %s: %v, want %v", test.host, test.url, got, test.want)
			}
		})
	}
}

func TestWhichSettingsAHookIsCalledWith(t *testing.T) {
	own := &v1alpha1.CABundle{Inline: ptr.To("own")}
	nothing := &v1alpha1.CABundle{}
	shared := &v1alpha1.CABundle{Inline: ptr.To("of the endpoint")}
	token := &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Name: "token"}}
	password := &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Name: "password"}}
	certificate := &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Name: "certificate"}}
	address := ptr.To("https://hooks.example/sync")
	endpoints := []v1alpha1.EndpointConfig{
		{Host: "other.example", CABundle: own},
		{Host: "hooks.example:443", CABundle: shared, ClientTLS: certificate, Authorization: token, BasicAuth: password},
		{Host: "hooks.example", CABundle: own},
	}
	const ofHook = "spec.hooks.sync.webhook"
	ofEndpoint := settings{path: "spec.endpointConfigs[1]", caBundle: shared, clientTLS: certificate, authorization: token, basicAuth: password}
	tests := map[string]struct {
		webhook   v1alpha1.Webhook
		endpoints []v1alpha1.EndpointConfig
		want      settings
	}{
		"none":                            {v1alpha1.Webhook{URL: address}, nil, settings{}},
		"no endpoint of that host":        {v1alpha1.Webhook{URL: address}, endpoints[:1], settings{}},
		"the first endpoint of that host": {v1alpha1.Webhook{URL: address}, endpoints, ofEndpoint},
		"the first endpoint of that host, even if it sets nothing": {
			v1alpha1.Webhook{URL: address}, append([]v1alpha1.EndpointConfig{{Host: "hooks.example"}}, endpoints...), settings{path: "spec.endpointConfigs[0]"},
		},
		"the endpoint of a service": {
			v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools"}, Path: ptr.To("/sync")},
			[]v1alpha1.EndpointConfig{{Host: "hooks.tools", CABundle: shared}}, settings{path: "spec.endpointConfigs[0]", caBundle: shared},
		},
		"a CA of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, CABundle: own}, endpoints, settings{path: ofHook, caBundle: own},
		},
		"a certificate of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, ClientTLS: certificate}, endpoints, settings{path: ofHook, clientTLS: certificate},
		},
		"a token of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, Authorization: token}, endpoints, settings{path: ofHook, authorization: token},
		},
		"a password of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, BasicAuth: password}, endpoints, settings{path: ofHook, basicAuth: password},
		},
		"an empty CA of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, CABundle: nothing}, endpoints, settings{path: ofHook, caBundle: nothing},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target, err := url.Parse(ptr.Deref(test.webhook.URL, "http://hooks.tools:80/sync"))
			if err != nil {
				t.Fatal(err)
			}
			got := settingsOf("sync", &test.webhook, target, test.endpoints)
			if got != test.want {
				t.Errorf("settings are %+v, want %+v", got, test.want)
			}
		})
	}
}
