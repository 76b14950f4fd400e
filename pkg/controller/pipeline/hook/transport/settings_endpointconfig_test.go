// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/url"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

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
		"none":                            {v1alpha1.Webhook{URL: address}, nil, settings{path: ofHook}},
		"no endpoint of that host":        {v1alpha1.Webhook{URL: address}, endpoints[:1], settings{path: ofHook}},
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
