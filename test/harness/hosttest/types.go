// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Webs is a type from a CustomResourceDefinition, with a status.
func Webs() object.Type {
	return object.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web",
		Namespaced: true, StatusSubresource: true,
	}
}

// Plains is a cluster-scoped type from a CustomResourceDefinition, without a status subresource.
func Plains() object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "plains"}, Kind: "Plain"}
}

// Pods is a built-in type.
func Pods() object.Type {
	return object.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, StatusSubresource: true,
	}
}

// Namespaces is a cluster-scoped built-in type.
func Namespaces() object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", StatusSubresource: true}
}

// Discovery returns a Discovery of a host that serves these types, and Visits of an aggregated API
// server. The host answers requests for the API group down.example with an error.
func Discovery(t testing.TB) *discovery.Discovery {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	types := discovery.New(client, func(string) {})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var following sync.WaitGroup
	following.Go(func() {
		if err := types.Follow(ctx, config); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); following.Wait() })
	return types
}

func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const definitions, apiServices = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/apiregistration.k8s.io/v1/apiservices"
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
	case path == definitions || path == apiServices:
		serveDefinitions(w, r, path == definitions)
	case strings.HasPrefix(path, "/apis/down.example/"):
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
	default:
		refuse(w, http.StatusNotFound, "NotFound")
	}
}

// serveDefinitions lists the CustomResourceDefinitions of Webs and Plains, and no APIService. Its
// watches send no events.
func serveDefinitions(w http.ResponseWriter, r *http.Request, custom bool) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		refuse(w, http.StatusUnprocessableEntity, "Invalid") // it has no streaming lists
	case query.Get("watch") == "true":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case custom:
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[
			{"metadata":{"name":"webs.ctl.example"}},{"metadata":{"name":"plains.ctl.example"}}]}`)
	default:
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	}
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no answer"}`, code, reason)
}
