// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

// aggregatedHost serves the types of all groups in one document.
type aggregatedHost struct{ asked, failing atomic.Int32 }

func (h *aggregatedHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	groups := `{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","shortNames":["deploy"]}]}]}`
	if r.URL.Path == "/api" {
		groups = ""
	}
	if h.failing.Load() > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", r.Header.Get("Accept"))
	_, _ = io.WriteString(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[`+groups+`]}`)
}

func suggesting(t *testing.T) (*aggregatedHost, *Discovery) {
	t.Helper()
	fake := &aggregatedHost{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return fake, New(client, func(string) {})
}

func TestWhichTypeWasMeant(t *testing.T) {
	fake, d := suggesting(t)
	for _, test := range []struct{ apiVersion, resource, want string }{
		{"apps/v1", "deployment", `can't find resource "deployment" in apiVersion "apps/v1": the host does not serve it; did you mean "deployments"? If not, create its CustomResourceDefinition`},
		{"v1", "deployments", `can't find resource "deployments" in apiVersion "v1": the host does not serve it; did you mean "deployments" in apps/v1? If not, create its CustomResourceDefinition`},
		{"example.com/v1", "pages", `can't find resource "pages" in apiVersion "example.com/v1": the host does not serve it; check the spelling (resource is the plural, in lower case), or create its CustomResourceDefinition`},
	} {
		unknown := &UnknownTypeError{APIVersion: test.apiVersion, Resource: test.resource}
		if d.Suggest(t.Context(), unknown); unknown.Error() != test.want {
			t.Errorf("the error is\n%s, want\n%s", unknown, test.want)
		}
	}
	if asked := fake.asked.Load(); asked != 2 {
		t.Errorf("the host was asked %d times, want twice", asked)
	}
}

func TestNothingIsMeantIfTheHostDoesNotTell(t *testing.T) {
	fake, d := suggesting(t)
	fake.failing.Store(1)
	unknown := &UnknownTypeError{APIVersion: "apps/v1", Resource: "deployment"}
	if d.Suggest(t.Context(), unknown); unknown.Meant != "" {
		t.Errorf("%s is meant", unknown.Meant)
	}
}
