// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateHook(t *testing.T) {
	const webhook = "spec.hooks.sync.webhook"
	tests := map[string]struct {
		hook string
		want []string
	}{
		"a url":                                      {hook: `{webhook: {url: "http://hooks.example/sync"}}`},
		"a url with https, port, user and query":     {hook: `{webhook: {url: "HTTPS://user:pass@hooks.example:8443/sync?a=b"}}`},
		"a url with an IPv6 address":                 {hook: `{webhook: {url: "http://[::1]:8080"}}`},
		"a service with a path":                      {hook: "{webhook: {service: {name: hooks, namespace: ns}, path: /sync}}"},
		"a service with all that can be said":        {hook: "{webhook: {service: {name: hooks, namespace: ns, port: 8443, protocol: HTTPS}, path: \"/sync?a=b\"}}"},
		"a url with only a port":                     {hook: `{webhook: {url: "http://:8080/sync"}}`},
		"a service beside an empty url":              {hook: `{webhook: {url: "", service: {name: hooks, namespace: ns}, path: /sync}}`},
		"a service in capitals, a domain with a dot": {hook: `{webhook: {service: {name: My_Hooks, namespace: ns.svc.cluster.local.}, path: "?a=b"}}`},
		"a namespace with the domain of Services":    {hook: "{webhook: {service: {name: hooks, namespace: ns.svc.cluster.local}, path: /sync}}"},
		"a service beside a url is not looked at":    {hook: `{webhook: {url: "http://hooks.example", service: {name: "?", namespace: "", port: 0}}}`},
		"version v2":                                 {hook: `{version: v2, webhook: {url: "http://hooks.example"}}`},
		"timeouts of several units":                  {hook: `{webhook: {url: "http://hooks.example", timeout: 1m30s500ms}}`},
		"a timeout of nothing: counts as default":    {hook: `{webhook: {url: "http://hooks.example", timeout: "0"}}`},
		"a negative timeout: counts as default":      {hook: `{webhook: {url: "http://hooks.example", timeout: -5s}}`},
		"strict answers":                             {hook: `{webhook: {url: "http://hooks.example", responseUnMarshallMode: strict}}`},
		"an etag cache that nothing ever cleans up":  {hook: `{webhook: {url: "http://hooks.example", etag: {enabled: true, cacheTimeoutSeconds: 5}}}`},
		"answers that never expire":                  {hook: `{webhook: {url: "http://hooks.example", etag: {enabled: true, cacheTimeoutSeconds: -1, cacheCleanupSeconds: -1}}}`},
		"a service with an empty path":               {hook: `{webhook: {service: {name: hooks, namespace: ns}, path: ""}}`},

		"an unknown version": {
			hook: `{version: v3, webhook: {url: "http://hooks.example"}}`,
			want: []string{`spec.hooks.sync.version: Unsupported value: "v3": supported values: "v1", "v2"`},
		},
		"neither url nor service": {
			hook: "{webhook: {path: /sync}}",
			want: []string{webhook + ": Required value: must have either a url, or a service and a path"},
		},
		"a service without a path": {
			hook: "{webhook: {service: {name: hooks, namespace: ns}}}",
			want: []string{webhook + `.path: Required value: must be the path of the webhook at its service, such as "/sync"`},
		},
		"a path whose query is not for errors": {
			hook: `{webhook: {service: {name: hooks, namespace: ns}, path: "sync?token=s3cret"}}`,
			want: []string{webhook + `.path: Invalid value: "sync?xxxxx": must be the path of a URL and start with "/", such as "/sync"`},
		},
		"a path that changes the host": {
			hook: `{webhook: {service: {name: hooks, namespace: ns}, path: "@elsewhere.example/sync"}}`,
			want: []string{webhook + `.path: Invalid value: "xxxxx@elsewhere.example/sync": must be the path of a URL and start with "/", such as "/sync"`},
		},
		"a path that changes the port": {
			hook: `{webhook: {service: {name: hooks, namespace: ns}, path: "80/sync"}}`,
			want: []string{webhook + `.path: Invalid value: "80/sync": must be the path of a URL and start with "/", such as "/sync"`},
		},
		"a service without name and namespace": {
			hook: "{webhook: {service: {}, path: /sync}}",
			want: []string{
				webhook + ".service.name: Required value: must be the name of the Service",
				webhook + ".service.namespace: Required value: must be the namespace of the Service",
			},
		},
		"a service that gives no URL": {
			hook: `{webhook: {service: {name: "my hooks", namespace: ns/, port: 0, protocol: tcp}, path: sync}}`,
			want: []string{
				webhook + `.service.name: Invalid value: "my hooks": must be part of a host name: letters, digits, '-' and '.'`,
				webhook + `.service.namespace: Invalid value: "ns/": must be part of a host name: letters, digits, '-' and '.'`,
				webhook + ".service.port: Invalid value: 0: must be a port number between 1 and 65535",
				webhook + `.service.protocol: Unsupported value: "tcp": supported values: "http", "https"`,
				webhook + `.path: Invalid value: "sync": must be the path of a URL and start with "/", such as "/sync"`,
			},
		},
		"an empty url": {
			hook: `{webhook: {url: ""}}`,
			want: []string{webhook + `.url: Invalid value: "": must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`},
		},
		"a url without a scheme": {
			hook: "{webhook: {url: hooks.example/sync}}",
			want: []string{webhook + `.url: Invalid value: "hooks.example/sync": must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`},
		},
		"a url with another scheme": {
			hook: `{webhook: {url: "file:///etc/passwd"}}`,
			want: []string{webhook + `.url: Invalid value: "file:///etc/passwd": must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`},
		},
		"a url without a host": {
			hook: `{webhook: {url: "http:///sync"}}`,
			want: []string{webhook + `.url: Invalid value: "http:///sync": must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`},
		},
		"a url whose credentials are not for errors": {
			hook: `{webhook: {url: "http://user:secret@hooks.example:0/sync?token=secret"}}`,
			want: []string{webhook + `.url: Invalid value: "http://xxxxx@hooks.example:0/sync?xxxxx": must have a port number between 1 and 65535, or none`},
		},
		"a url that cannot be parsed, with credentials": {
			hook: `{webhook: {url: "http://user:sec/ret@hooks.example/sync"}}`,
			want: []string{webhook + `.url: Invalid value: "http://xxxxx@hooks.example/sync": must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`},
		},
		"a host that can have no address": {
			hook: `{webhook: {url: "http://hooks..example/sync"}}`,
			want: []string{webhook + `.url: Invalid value: "http://hooks..example/sync": must have the name of a host, such as my-hooks.my-namespace, or an IP address`},
		},
		"a url with a port that is none": {
			hook: `{webhook: {url: "http://hooks.example:80800/sync"}}`,
			want: []string{webhook + `.url: Invalid value: "http://hooks.example:80800/sync": must have a port number between 1 and 65535, or none`},
		},
		"a timeout that the schema of the original let in and its client could not read": {
			hook: `{webhook: {url: "http://hooks.example", timeout: 10 seconds}}`,
			want: []string{webhook + `.timeout: Invalid value: "10 seconds": must be a number with a unit (ns, us, ms, s, m, h), or several of them in a row, such as "10s" or "1m30s"`},
		},
		"a timeout without a unit": {
			hook: `{webhook: {url: "http://hooks.example", timeout: "10"}}`,
			want: []string{webhook + `.timeout: Invalid value: "10": must be a number with a unit (ns, us, ms, s, m, h), or several of them in a row, such as "10s" or "1m30s"`},
		},
		"an unknown way to read answers": {
			hook: `{webhook: {url: "http://hooks.example", responseUnMarshallMode: Strict}}`,
			want: []string{webhook + `.responseUnMarshallMode: Unsupported value: "Strict": supported values: "loose", "strict"`},
		},
		"connection settings that name nothing": {
			hook: `{webhook: {url: "http://hooks.example", caBundle: {configMapRef: {name: ca}}}}`,
			want: []string{webhook + ".caBundle.configMapRef.namespace: Required value: must be the namespace of the ConfigMap"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			patch := "spec: {hooks: {sync: {webhook: {url: null}}}}"
			text := patched(t, patched(t, compositeController, patch), "spec: {hooks: {sync: "+test.hook+"}}")
			wantErrors(t, ValidateCompositeController(decode[*v1alpha1.CompositeController](t, text)), test.want...)
		})
	}
}

func TestHostNames(t *testing.T) {
	for name := range strings.FieldsSeq("a a.b A-b.c_d 1.2.3 xn--bcher-kva.example " + strings.Repeat("a", 63)) {
		if !isHostName(name) {
			t.Errorf("%s is no host name", name)
		}
	}
	for name := range strings.FieldsSeq(". .a a. a..b -a a-.b a! ä a/b a:1 " + strings.Repeat("a", 64) + " " + strings.Repeat("a.", 127) + "a") {
		if isHostName(name) {
			t.Errorf("%s is a host name", name)
		}
	}
}

// kubectl apply keeps the version of a stored hook that the file does not name.
func TestAHookIsReplacedByAnotherKind(t *testing.T) {
	controller := func(hook v1alpha1.Hook) *v1alpha1.CompositeController {
		of := &v1alpha1.CompositeController{Spec: v1alpha1.CompositeControllerSpec{
			Hooks: &v1alpha1.CompositeControllerHooks{Sync: &hook},
		}}
		v1alpha1.SetObjectDefaults_CompositeController(of)
		return of
	}
	webhook, template := &v1alpha1.Webhook{URL: ptr.To("http://hooks.example")}, &v1alpha1.InlineHook{}
	stored := controller(v1alpha1.Hook{Webhook: webhook})
	updated := controller(v1alpha1.Hook{Version: stored.Spec.Hooks.Sync.Version, Inline: template})
	if errs := ValidateCompositeControllerUpdate(updated, stored); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	if version := updated.Spec.Hooks.Sync.GetVersion(); version != v1alpha1.HookVersionV2 {
		t.Errorf("the inline hook has version %s", version)
	}
	for _, stored := range []*v1alpha1.CompositeController{updated, controller(v1alpha1.Hook{Inline: template})} {
		back := controller(v1alpha1.Hook{Version: stored.Spec.Hooks.Sync.Version, Webhook: webhook})
		if version := back.Spec.Hooks.Sync.GetVersion(); version != v1alpha1.HookVersionV1 {
			t.Errorf("the webhook has version %s", version)
		}
	}
}

// An update that does not change the spec compiles no hooks, and any other valid update compiles them once.
func TestUpdatesCompileHooksOnce(t *testing.T) {
	controller := func(label string, resync int32) *v1alpha1.CompositeController {
		status := []byte(`{"a": [` + strings.Repeat(`"${1 + 2 + 3 + 4}",`, 100) + `1]}`)
		inline := &v1alpha1.InlineHook{Status: &v1alpha1.JSONValue{Raw: status}}
		return &v1alpha1.CompositeController{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": label}},
			Spec: v1alpha1.CompositeControllerSpec{
				ParentResource: v1alpha1.CompositeControllerParentResourceRule{
					ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: "things"},
				},
				ResyncPeriodSeconds: ptr.To(resync),
				Hooks:               &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Inline: inline}},
			},
		}
	}
	stored := controller("1", 1)
	compiling := testing.AllocsPerRun(1, func() { ValidateCompositeController(stored) })
	for of, limit := range map[*v1alpha1.CompositeController]float64{
		controller("2", 1): compiling / 2, controller("1", 2): 1.5 * compiling,
	} {
		allocations := testing.AllocsPerRun(1, func() {
			if errs := ValidateCompositeControllerUpdate(of, stored); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
		if allocations > limit {
			t.Errorf("an update makes %v allocations, a creation %v", allocations, compiling)
		}
	}
}
