// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

// aggregatedHost serves the types of all groups in one document.
type aggregatedHost struct{ asked, failing, askedForDefinitions atomic.Int32 }

// defined are the CustomResourceDefinitions of the host, whose types it does not serve.
var defined = map[string]string{
	"deploymentz.apps": `{"spec":{"versions":[{"name":"v1","served":true}]},"status":{"conditions":[
		{"type":"NamesAccepted","status":"True","message":"no conflicts found"}]}}`,
	"pages.example.com": `{"spec":{"versions":[{"name":"v1","served":true}]},"status":{"conditions":[
		{"type":"NamesAccepted","status":"False","message":"\"page\" is already in use"},{"type":"Established","status":"False"}]}}`,
	"books.example.com": `{"spec":{"versions":[{"name":"v1","served":true}]},"status":{"conditions":[
		{"type":"NamesAccepted","status":"False","message":"\"book\" is already in use"},{"type":"Established","status":"True"}]}}`,
}

func (h *aggregatedHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"); ok {
		h.askedForDefinitions.Add(1)
		if defined[name] == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, defined[name])
		return
	}
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

func hinting(t *testing.T) (*aggregatedHost, *Discovery) {
	t.Helper()
	fake := &aggregatedHost{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	d := New(client, func(string) {})
	definitions := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for name := range defined {
		if err := definitions.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	d.custom.set(definitions, nil)
	return fake, d
}

func TestWhatTheHostKnowsOfATypeThatItDoesNotServe(t *testing.T) {
	fake, d := hinting(t)
	for _, test := range []struct{ apiVersion, resource, want string }{
		{"apps/v1", "deployment", `did you mean "deployments"? (resource is the plural, in lower case)`},
		{"v1", "deployments", `did you mean "deployments" in apps/v1? (resource is the plural, in lower case)`},
		{"example.com/v1", "posters", ""},
		{"apps/v1", "deployments", ""}, // it is served meanwhile
		{"apps/v1", "deploymentz", ""}, // it is defined, and served soon
		{"apps/v2", "deploymentz", `did you mean "deployments" in apps/v1? (resource is the plural, in lower case)`},
		{"example.com/v1", "pages", `the cluster does not accept the names in its CustomResourceDefinition: "page" is already in use`},
		{"example.com/v1", "books", ""}, // it is served all the same
		{"apps/v1", "deployments/", `did you mean "deployments"? (resource is the plural, in lower case)`},
		{"example.com/v1", "../../../../api/v1/namespaces/a/services/b/proxy/deployments", ""},
	} {
		if got := d.hint(t.Context(), &UnknownTypeError{APIVersion: test.apiVersion, Resource: test.resource}); got != test.want {
			t.Errorf("the hint about %s of %s is %q, want %q", test.resource, test.apiVersion, got, test.want)
		}
	}
	if asked := fake.asked.Load(); asked != 2 {
		t.Errorf("the host was asked for all types %d times, want twice", asked)
	}
	// It is asked neither for the definition of posters, which it does not list, nor at another path.
	if asked := fake.askedForDefinitions.Load(); asked != 6 {
		t.Errorf("the host was asked for %d definitions, want 6", asked)
	}
}

func TestNothingIsKnownIfTheHostDoesNotTell(t *testing.T) {
	fake, d := hinting(t)
	fake.failing.Store(1)
	if got := d.hint(t.Context(), &UnknownTypeError{APIVersion: "apps/v1", Resource: "deployment"}); got != "" {
		t.Errorf("the hint is %q", got)
	}
}

func TestAnErrorOfATypeHasTheHint(t *testing.T) {
	_, d := hinting(t)
	unknown := &UnknownTypeError{APIVersion: "apps/v1", Resource: "deployment"}
	got := d.WithHint(t.Context(), fmt.Errorf("a rule: %w", unknown))
	const want = `a rule: can't find resource "deployment" in apiVersion "apps/v1": the cluster does not serve it; did you mean "deployments"? (resource is the plural, in lower case)`
	if got.Error() != want || !errors.Is(got, unknown) {
		t.Errorf("the error is %q, want %q", got, want)
	}
	for name, test := range map[string]struct {
		apiVersion string
		definable  bool
	}{
		"of the core":                               {"v1", false},
		"of a group of Kubernetes":                  {"apps/v1", false},
		"of another one":                            {"networking.k8s.io/v1", false},
		"of a group of the project that is defined": {"gateway.networking.k8s.io/v1", true},
		"of a group of one's own":                   {"example.com/v1", true},
	} {
		if err := (&UnknownTypeError{APIVersion: test.apiVersion, Resource: "x"}); strings.Contains(err.Error(), "CustomResourceDefinition") != test.definable {
			t.Errorf("a type %s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"none":                             nil,
		"of another kind":                  errors.New("no"),
		"of a type that nobody could mean": &UnknownTypeError{APIVersion: "example.com/v1", Resource: "posters"},
	} {
		if got := d.WithHint(t.Context(), err); got != err { //nolint:errorlint // It is the same.
			t.Errorf("an error %s becomes %v", name, got)
		}
	}
}
