// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

func TestTypesThatAreServedFromMemoryAreRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s is requested", r.URL)
	}))
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, "applier")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"syncs", "hookcalls", "syncreviews"} {
		_, err := New(client, func(string) {}).Resolve(t.Context(), "metacontroller.k8s.io/v1alpha1", resource)
		if err == nil || !strings.Contains(err.Error(), resource) || !strings.Contains(err.Error(), v1alpha1.NotForSyncs) {
			t.Errorf("the error of %s is %v", resource, err)
		}
	}
}

// Customize hooks choose the versions of related types.
func TestAVersionDoesNotLeadToAnotherPath(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is requested", r.URL) }))
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, "applier")
	if err != nil {
		t.Fatal(err)
	}
	for _, elsewhere := range []string{"../metrics", "..", "apps/..", "a%2fb/v1"} {
		_, err := New(client, func(string) {}).Resolve(t.Context(), elsewhere, "pods")
		if _, unknown := errors.AsType[*UnknownTypeError](err); !unknown {
			t.Errorf("the error of %s is %v", elsewhere, err)
		}
	}
}
