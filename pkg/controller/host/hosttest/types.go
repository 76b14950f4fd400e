// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosttest is a host for tests that tells its types and nothing else.
package hosttest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Webs is a type from a CustomResourceDefinition, with a status.
func Webs() pipeline.Type {
	return pipeline.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web",
		Namespaced: true, StatusSubresource: true,
	}
}

// Plains is a cluster-scoped type from a CustomResourceDefinition, without a status
// subresource.
func Plains() pipeline.Type {
	return pipeline.Type{GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "plains"}, Kind: "Plain"}
}

// Pods is a built-in type.
func Pods() pipeline.Type {
	return pipeline.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, StatusSubresource: true,
	}
}

// Namespaces is a cluster-scoped built-in type.
func Namespaces() pipeline.Type {
	return pipeline.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", StatusSubresource: true}
}

// Discovery finds these types, and Visits of an API server of their own. The host does not
// answer for the API group down.example.
func Discovery(t testing.TB) *discovery.Discovery {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return discovery.New(client, func(string) {})
}

func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	switch path := r.URL.Path; {
	case path == "/api/v1":
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get"]},
			{"name":"pods/status","namespaced":true,"kind":"Pod","verbs":["get"]},{"name":"pods/log","namespaced":true,"kind":"Pod","verbs":["get"]},
			{"name":"pods/eviction","namespaced":true,"group":"policy","version":"v1","kind":"Eviction","verbs":["create"]},
			{"name":"namespaces/status","namespaced":false,"kind":"Namespace","verbs":["get"]},{"name":"namespaces","namespaced":false,"kind":"Namespace","verbs":["get"]}]}`)
	case path == "/apis/ctl.example/v1":
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"ctl.example/v1","resources":[
			{"name":"webs","namespaced":true,"kind":"Web","verbs":["get"]},{"name":"webs/status","namespaced":true,"kind":"Web","verbs":["get"]},
			{"name":"plains","namespaced":false,"kind":"Plain","verbs":["get"]},{"name":"plains/scale","namespaced":false,"kind":"Scale","verbs":["get"]},
			{"name":"visits","namespaced":true,"kind":"Visit","verbs":["get"]}]}`)
	case path == definitions+"webs.ctl.example" || path == definitions+"plains.ctl.example":
		_, _ = io.WriteString(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}`)
	case strings.HasPrefix(path, "/apis/down.example/"):
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
	default:
		refuse(w, http.StatusNotFound, "NotFound")
	}
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no answer"}`, code, reason)
}
