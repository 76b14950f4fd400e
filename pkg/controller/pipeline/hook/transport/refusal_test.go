// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/url"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestARefusalSaysWhichCredentialsWereSent(t *testing.T) {
	none := "; the controller sends no credentials: if the hook wants some, set spec.hooks.sync.webhook.authorization or .basicAuth"
	for name, test := range map[string]struct {
		webhook   v1alpha1.Webhook
		endpoints []v1alpha1.EndpointConfig
		status    int
		want      string
	}{
		"none, and it is unauthorized": {status: 401, want: none},
		"none, and it is forbidden":    {status: 403, want: none},
		"another status":               {status: 400},
		"a token": {
			webhook: v1alpha1.Webhook{Authorization: &v1alpha1.Authorization{}}, status: 401,
			want: "; the controller sends the credentials of spec.hooks.sync.webhook.authorization: check that they are the ones that the hook wants",
		},
		"a password of an endpoint": {
			endpoints: []v1alpha1.EndpointConfig{{Host: "hooks.example", BasicAuth: &v1alpha1.BasicAuth{}}}, status: 403,
			want: "; the controller sends the credentials of spec.endpointConfigs[0].basicAuth: check that they are the ones that the hook wants",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := &url.URL{Scheme: "https", Host: "hooks.example"}
			transport := newTransport(settingsOf("sync", &test.webhook, target, test.endpoints), Options{})
			defer transport.Close()
			if got := transport.ExplainStatus(test.status); got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
