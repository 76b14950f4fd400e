// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestCompositeControllerWarnings(t *testing.T) {
	tests := map[string]struct {
		patch string
		want  string
	}{
		"a minimal controller is nothing to warn of": {patch: "spec: {generateSelector: true}"},
		"only a finalize hook": {
			patch: `spec: {hooks: {sync: null, finalize: {webhook: {url: "http://hooks.example/finalize"}}}}`,
			want:  "spec.hooks.sync: has no webhook, so the server only finalizes parents",
		},
		"a service beside a url": {
			patch: `spec: {hooks: {sync: {webhook: {url: "http://hooks.example", service: {name: a, namespace: b}}}}}`,
			want:  "spec.hooks.sync.webhook.service: has no effect, because url is set",
		},
		"a service with https and no port": {
			patch: `spec: {hooks: {sync: {webhook: {url: null, service: {name: a, namespace: b, protocol: https}, path: /sync}}}}`,
			want: "spec.hooks.sync.webhook.service.port: is 80, which is also the default, but https is rarely served at " +
				"port 80",
		},
		"a service with https and a port": {
			patch: `spec: {hooks: {sync: {webhook: {url: null, service: {name: a, namespace: b, protocol: https, port: 443}, path: /sync}}}}`,
		},
		"the annotation that pauses a parent": {
			patch: `metadata: {annotations: {metacontroller.k8s.io/paused: "true"}}`,
			want: "metadata.annotations[metacontroller.k8s.io/paused]: pauses parents and has no effect on a controller: set " +
				"spec.paused",
		},
		"a hook that is never called": {
			patch: `spec: {hooks: {sync: {webhook: {url: "http://hooks.example"}}, postUpdateChild: {}}}`,
			want:  "spec.hooks.postUpdateChild: has no effect: the server never calls this hook",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := decode[*v1alpha1.CompositeController](t, patched(t, compositeController, test.patch))
			wantErrors(t, ValidateCompositeController(controller))
			wantWarnings(t, CompositeControllerWarnings(controller), test.want)
		})
	}
}

func TestDecoratorControllerWarnings(t *testing.T) {
	tests := map[string]struct{ patch, want string }{
		"a minimal controller is nothing to warn of": {patch: "{}"},
		"the annotation that pauses a parent": {
			patch: `metadata: {annotations: {metacontroller.k8s.io/paused: "true"}}`,
			want: "metadata.annotations[metacontroller.k8s.io/paused]: pauses parents and has no effect on a controller: set " +
				"spec.paused",
		},
		"no targets": {
			patch: "spec: {resources: []}",
			want:  "spec.resources: is empty, so the controller decorates nothing",
		},
		"only a finalize hook": {
			patch: `spec: {hooks: {sync: null, finalize: {webhook: {url: "http://hooks.example"}}}}`,
			want:  "spec.hooks.sync: has no webhook, so the server only finalizes parents",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := decode[*v1alpha1.DecoratorController](t, patched(t, decoratorController, test.patch))
			wantErrors(t, ValidateDecoratorController(controller))
			wantWarnings(t, DecoratorControllerWarnings(controller), test.want)
		})
	}
}

func wantWarnings(t *testing.T, got []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) == 0:
	case len(got) == 1 && got[0] == want:
	default:
		t.Errorf("warnings = %q, want %q", got, want)
	}
}
