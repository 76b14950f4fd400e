// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestEndpoint(t *testing.T) {
	service := v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools"}
	tests := map[string]struct {
		webhook v1alpha1.Webhook
		want    string
	}{
		"a url": {
			webhook: v1alpha1.Webhook{URL: ptr.To("https://hooks.example:8443/sync?a=b")},
			want:    "https://hooks.example:8443/sync?a=b",
		},
		"a url wins over service and path": {
			webhook: v1alpha1.Webhook{URL: ptr.To("http://hooks.example"), Service: &service, Path: ptr.To("/sync")},
			want:    "http://hooks.example",
		},
		"an empty url does not": {
			webhook: v1alpha1.Webhook{URL: ptr.To(""), Service: &service, Path: ptr.To("/sync")},
			want:    "http://hooks.tools:80/sync",
		},
		"a service is called by http at port 80": {
			webhook: v1alpha1.Webhook{Service: &service, Path: ptr.To("/sync")},
			want:    "http://hooks.tools:80/sync",
		},
		"https too is called at port 80": {
			webhook: v1alpha1.Webhook{
				Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools", Protocol: ptr.To("https")}, Path: ptr.To("/sync"),
			},
			want: "https://hooks.tools:80/sync",
		},
		"a protocol in capitals": {
			webhook: v1alpha1.Webhook{
				Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools", Protocol: ptr.To("HTTPS"), Port: ptr.To[int32](8443)}, Path: ptr.To("/sync"),
			},
			want: "https://hooks.tools:8443/sync",
		},
		"a path is put behind as it is": {
			webhook: v1alpha1.Webhook{
				Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools", Port: ptr.To[int32](8080)}, Path: ptr.To("/a/b?c=d"),
			},
			want: "http://hooks.tools:8080/a/b?c=d",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := endpoint(&test.webhook)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != test.want {
				t.Errorf("called at %s, want %s", got, test.want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string]struct {
		webhook v1alpha1.Webhook
		want    string
	}{
		"nothing": {
			webhook: v1alpha1.Webhook{},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service without a path": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools"}},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service with an empty path": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools"}, Path: ptr.To("")},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a path without a service": {
			webhook: v1alpha1.Webhook{Path: ptr.To("/sync")},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service without a name": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Namespace: "tools"}, Path: ptr.To("/sync")},
			want:    "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
		},
		"a service without a namespace": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks"}, Path: ptr.To("/sync")},
			want:    "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
		},
		"a url of another scheme":  {v1alpha1.Webhook{URL: ptr.To("ftp://hooks.example/sync")}, `invalid webhook config: the scheme of the url must be http or https, not "ftp"`},
		"a url without a scheme":   {v1alpha1.Webhook{URL: ptr.To("//hooks.example/sync")}, `invalid webhook config: the scheme of the url must be http or https, not ""`},
		"a url that is a path":     {v1alpha1.Webhook{URL: ptr.To("/sync")}, `invalid webhook config: the scheme of the url must be http or https, not ""`},
		"a url without a host":     {v1alpha1.Webhook{URL: ptr.To("http:///sync")}, "invalid webhook config: the url has no host"},
		"a url with a broken port": {v1alpha1.Webhook{URL: ptr.To("http://hooks.example:eighty/sync")}, `invalid webhook config: url: invalid port ":eighty" after host`},
		"a url that is none":       {v1alpha1.Webhook{URL: ptr.To("http://hooks.example/%zz")}, `invalid webhook config: url: invalid URL escape "%zz"`},
		"a protocol that is none": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools", Protocol: ptr.To("tcp")}, Path: ptr.To("/sync")},
			want:    `invalid webhook config: the scheme of the url must be http or https, not "tcp"`,
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

func TestPasswordsInAURLAreNotInErrors(t *testing.T) {
	for name, url := range map[string]string{
		"a broken escape in the query": "http://hooks.example/sync\x7f?key=s3cret",
		"a broken port before a query": "http://hooks.example:eighty?key=s3cret",
		"a broken port":                "http://user:s3cret@hooks.example:eighty/sync",
		"a broken host":                "http://user:s3cret@hooks example/sync",
		"a broken escape":              "http://user:s3cret%zz@hooks.example/sync",
		"a slash in the password":      "http://user:s3cret/x@hooks.example/sync",
		"a question mark in it":        "http://user:s3cret?x@hooks.example:a/sync",
		"another scheme":               "ftp://user:s3cret@hooks.example/sync",
		"a scheme that was forgotten":  "user:s3cret@hooks.example/sync",
		"slashes that were forgotten":  "http:user:s3cret@hooks.example/sync",
		"a host that was forgotten":    "http://user:s3cret@/sync",
		"a control character":          "http://user:s3cret@hooks.example/\x7f",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}, nil, Options{})
			if err == nil {
				t.Fatal("it was accepted")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestWhatIsShownOfAURL(t *testing.T) {
	for name, test := range map[string]struct{ url, want string }{
		"all of one without secrets":       {"https://hooks.example:8443/sync", "https://hooks.example:8443/sync"},
		"no password":                      {"http://user:s3cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
		"no user name, which may be a key": {"http://s3cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
		"no query":                         {"http://hooks.example/sync?key=s3cret&s3cret", "http://hooks.example/sync?xxxxx"},
		"neither of them":                  {"http://user:s3cret@hooks.example/?key=s3cret#s3cret", "http://xxxxx@hooks.example/?xxxxx"},
		"no question mark without a query": {"http://hooks.example/sync?", "http://hooks.example/sync"},
		"no fragment":                      {"http://hooks.example/sync#s3cret", "http://hooks.example/sync"},
		"escapes as they are":              {"http://hooks.example/a%2Fb", "http://hooks.example/a%2Fb"},
	} {
		t.Run(name, func(t *testing.T) {
			hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &test.url}}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if hook.shown != test.want {
				t.Errorf("shown is %s, want %s", hook.shown, test.want)
			}
			if hook.endpoint.String() != test.url {
				t.Errorf("called is %s, want %s", hook.endpoint, test.url)
			}
		})
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
