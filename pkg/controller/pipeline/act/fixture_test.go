// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var (
	configMaps  = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	deployments = object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment", Namespaced: true}
	namespaces  = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace"}
	webs        = object.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web",
		Namespaced: true, StatusSubresource: true,
	}
)

const liveParent = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","uid":"parent-uid"}}`

// request is a request as the API server sees it.
type request struct{ method, url, contentType, body string }

func (r request) String() string { return r.method + " " + r.url }

// apiServer answers requests as a test says and notes them.
type apiServer struct {
	mu       sync.Mutex
	requests []request
	answer   func(request) (status int, body string)
	// warning comes with each answer; empty if none does.
	warning string
	client  *host.Client
}

// serve starts an API server. Without answer, writes succeed and the parent is there.
func serve(t *testing.T, answer func(request) (int, string)) (*apiServer, *Actor) {
	t.Helper()
	if answer == nil {
		answer = succeed
	}
	api := &apiServer{answer: answer}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	api.client = client
	return api, &Actor{Writer: host.NewWriter(client, 100), Parallel: 10}
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	asked := request{r.Method, r.URL.String(), r.Header.Get("Content-Type"), string(body)}
	a.mu.Lock()
	a.requests = append(a.requests, asked)
	a.mu.Unlock()
	status, answer := a.answer(asked)
	w.Header().Set("Content-Type", "application/json")
	if a.warning != "" {
		w.Header().Set("Warning", `299 - "`+a.warning+`"`)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func (a *apiServer) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var seen []string
	for _, request := range a.requests {
		seen = append(seen, request.String())
	}
	return seen
}

// succeed answers a write with an object, and a GET with the parent.
func succeed(asked request) (int, string) {
	switch asked.method {
	case http.MethodGet:
		return 200, liveParent
	case http.MethodDelete:
		return 200, `{"apiVersion":"v1","kind":"Status","status":"Success"}`
	default:
		return 200, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stored","uid":"u","resourceVersion":"9"}}`
	}
}

// failure is the API server's answer to a request that fails.
func failure(code int, reason metav1.StatusReason, message string) string {
	body, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message,
	})
	return string(body)
}

func parsed(t *testing.T, raw string) *object.Object {
	t.Helper()
	o, err := object.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func snapshot(t *testing.T) *pipeline.Snapshot {
	return &pipeline.Snapshot{ParentType: webs, Parent: parsed(t, liveParent)}
}

// step is a step for the child of that name.
func step(t *testing.T, op pipeline.Op, name string) pipeline.Step {
	s := pipeline.Step{Op: op, Type: configMaps, Namespace: "default", Name: name, Body: []byte(`{"a":"` + name + `"}`)}
	switch op {
	case pipeline.Status:
		s.Type, s.Name = webs, "shop"
		s.Observed = parsed(t, liveParent)
		s.Rebase = func(*object.Object) ([]byte, error) { return s.Body, nil }
	case pipeline.Create:
	default:
		s.Observed = parsed(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`","namespace":"default","uid":"uid-of-`+name+`"}}`)
	}
	switch op {
	case pipeline.Delete:
		s.Body = nil
	case pipeline.Recreate:
		s.Successor = func() ([]byte, error) { return s.Body, nil }
	}
	return s
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
