// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
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
	ofEndpoint := settings{path: "spec.endpointConfigs[1]", Connection: v1alpha1.Connection{CABundle: shared, ClientTLS: certificate, Authorization: token, BasicAuth: password}}
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
			[]v1alpha1.EndpointConfig{{Host: "hooks.tools", CABundle: shared}}, settings{path: "spec.endpointConfigs[0]", Connection: v1alpha1.Connection{CABundle: shared}},
		},
		"a CA of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, CABundle: own}, endpoints, settings{path: ofHook, Connection: v1alpha1.Connection{CABundle: own}},
		},
		"a certificate of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, ClientTLS: certificate}, endpoints, settings{path: ofHook, Connection: v1alpha1.Connection{ClientTLS: certificate}},
		},
		"a token of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, Authorization: token}, endpoints, settings{path: ofHook, Connection: v1alpha1.Connection{Authorization: token}},
		},
		"a password of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, BasicAuth: password}, endpoints, settings{path: ofHook, Connection: v1alpha1.Connection{BasicAuth: password}},
		},
		"an empty CA of its own and nothing of the endpoint": {
			v1alpha1.Webhook{URL: address, CABundle: nothing}, endpoints, settings{path: ofHook, Connection: v1alpha1.Connection{CABundle: nothing}},
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

// recorder notes which Secrets and ConfigMaps are read.
type recorder struct{ read []Source }

func (r *recorder) Follow(_ context.Context, of object.Type, name types.NamespacedName, changed func(*object.Object)) (stop func(), err error) {
	r.read = append(r.read, Source{of, name})
	changed(nil)
	return func() {}, nil
}

// What References names is what a transport reads.
func TestReferencesAreWhatIsRead(t *testing.T) {
	key := &v1alpha1.ResourceKeyRef{Namespace: "keys", Name: "one"}
	for name, of := range map[string]settings{
		"authorities in a Secret":    {Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{SecretRef: key}}},
		"authorities in a ConfigMap": {Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{ConfigMapRef: key}}},
		"a client certificate":       {Connection: v1alpha1.Connection{ClientTLS: &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: "one"}}}},
		"a token":                    {Connection: v1alpha1.Connection{Authorization: &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Namespace: "keys", Name: "one", Key: "token"}}}},
		"a password":                 {Connection: v1alpha1.Connection{BasicAuth: &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: "one"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			of.path = "spec.hooks.sync.webhook"
			sources := &recorder{}
			transport := newTransport(of, Options{Sources: sources})
			defer transport.Close()
			unusable, ok := errors.AsType[*SourceError](transport.Open(t.Context(), func(error) {}))
			references := of.references()
			if !ok || len(references) != 1 || len(sources.read) != 1 {
				t.Fatalf("named are %v, read is %v", references, sources.read)
			}
			if references[0].Source != sources.read[0] || references[0].Field != unusable.Field {
				t.Errorf("named is %+v, read is %+v for %s", references[0], sources.read[0], unusable.Field)
			}
		})
	}
}
