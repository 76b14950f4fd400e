// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestATypeIsCalledAsHooksCallIt(t *testing.T) {
	tests := map[string]struct {
		resource schema.GroupVersionResource
		kind     string
		want     string
	}{
		"a type of the core group": {schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", "Pod.v1"},
		"a type of a named group":  {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, "StatefulSet", "StatefulSet.apps/v1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Type{GroupVersionResource: test.resource, Kind: test.kind}).String(); got != test.want {
				t.Errorf("it is called %q, want %q", got, test.want)
			}
		})
	}
}

func TestKindsOfAType(t *testing.T) {
	of := Type{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, Kind: "StatefulSet"}
	if got, want := of.GroupVersionKind(), (schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}); got != want {
		t.Errorf("kind is %v, want %v", got, want)
	}
	if got, want := of.GroupKind(), (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}); got != want {
		t.Errorf("kind in any version is %v, want %v", got, want)
	}
}
