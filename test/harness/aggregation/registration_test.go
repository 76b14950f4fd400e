// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregation

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// kube-apiserver learns of what a new API has at different times, and kubectl needs all of it.
func TestAnAPIIsServedWhenKubectlFindsAllOfIt(t *testing.T) {
	answers := map[string]string{
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1":  `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/version": `{}`,
	}
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, found := answers[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer cluster.Close()
	const own = "/apis/metacontroller.k8s.io/v1alpha1"
	for _, step := range []struct {
		without string
		then    map[string]string
	}{
		{"the server could not find the requested resource", map[string]string{
			"/apis/apiregistration.k8s.io/v1/apiservices/" + APIServiceName: `{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"` + APIServiceName + `"}}`,
		}},
		{"is not available yet", map[string]string{
			"/apis/apiregistration.k8s.io/v1/apiservices/" + APIServiceName: `{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"` + APIServiceName + `"},` +
				`"status":{"conditions":[{"type":"Available","status":"True"}]}}`,
		}},
		{"list compositecontrollers", map[string]string{own + "/compositecontrollers": `{"kind":"CompositeControllerList","apiVersion":"metacontroller.k8s.io/v1alpha1","items":[]}`}},
		{"discovery document has no", map[string]string{
			"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"metacontroller.k8s.io","versions":[{"groupVersion":"metacontroller.k8s.io/v1alpha1","version":"v1alpha1"}]}]}`,
			own:     `{"kind":"APIResourceList","groupVersion":"metacontroller.k8s.io/v1alpha1","resources":[]}`,
		}},
		{"which schemas", map[string]string{"/openapi/v3": `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1"}}}`}},
		{"OpenAPI documents have no", map[string]string{"/openapi/v3": `{"paths":{"apis/metacontroller.k8s.io/v1alpha1":{"serverRelativeURL":"/openapi/v3` + own + `"}}}`}},
	} {
		if err := Served(t.Context(), &rest.Config{Host: cluster.URL}); err == nil || !strings.Contains(err.Error(), step.without) {
			t.Errorf("the error is %v, want that it says %q", err, step.without)
		}
		for path, answer := range step.then {
			answers[path] = answer
		}
	}
	if err := Served(t.Context(), &rest.Config{Host: cluster.URL}); err != nil {
		t.Error(err)
	}
}
