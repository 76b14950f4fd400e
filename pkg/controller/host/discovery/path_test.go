// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

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
