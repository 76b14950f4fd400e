// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestNewRefuses(t *testing.T) {
	tests := map[string]struct {
		webhook v1alpha1.Webhook
		want    string
	}{
		"a webhook without an address": {
			webhook: v1alpha1.Webhook{},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service without a namespace": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks"}, Path: ptr.To("/sync")},
			want:    "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
		},
		"a timeout that is none": {
			webhook: v1alpha1.Webhook{URL: ptr.To("http://hooks.example"), Timeout: ptr.To(v1alpha1.Duration("10 seconds"))},
			want:    `invalid webhook config: timeout: time: unknown unit " seconds" in duration "10 seconds"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			webhook, err := New(Sync, &v1alpha1.Hook{Webhook: &test.webhook}, nil, Options{})
			if err == nil {
				t.Fatalf("it would be called at %s", webhook.endpoint)
			}
			if err.Error() != test.want {
				t.Errorf("error is\n%s\nwant\n%s", err, test.want)
			}
		})
	}
}

func TestAURLIsShownWithoutItsSecrets(t *testing.T) {
	const url = "http://user:s3cret@hooks.example/sync?key=s3cret"
	hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://xxxxx@hooks.example/sync?xxxxx"; hook.shown != want {
		t.Errorf("shown is %s, want %s", hook.shown, want)
	}
	if hook.endpoint.String() != url {
		t.Errorf("called is %s, want %s", hook.endpoint, url)
	}
}

func TestTimeout(t *testing.T) {
	tests := map[string]struct {
		timeout *v1alpha1.Duration
		want    time.Duration
	}{
		"none is ten seconds":           {nil, 10 * time.Second},
		"zero is ten seconds":           {ptr.To(v1alpha1.Duration("0s")), 10 * time.Second},
		"less than zero is ten seconds": {ptr.To(v1alpha1.Duration("-1m")), 10 * time.Second},
		"several units":                 {ptr.To(v1alpha1.Duration("1m30s")), 90 * time.Second},
		"less than a second":            {ptr.To(v1alpha1.Duration("50ms")), 50 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			webhook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To("http://hooks.example"), Timeout: test.timeout}}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if webhook.timeout != test.want {
				t.Errorf("the timeout is %s, want %s", webhook.timeout, test.want)
			}
		})
	}
}
