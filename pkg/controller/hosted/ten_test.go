// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// small is a ConfigMap of 1 KB, with more metadata if the host shows it.
func small(i int, more string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","data":{"config":%q},"kind":"ConfigMap","metadata":{%s"labels":{"controller-uid":"u"},"name":"a-%d","namespace":"default"}}`,
		strings.Repeat("key=value\n", 80), more, i)
}

// hostOfTen serves watches of a parent of 1 KB, webs/a, and of its ten children. It forbids writes.
func hostOfTen(t testing.TB) *rest.Config {
	objects := map[string][]string{"/apis/ctl.example/v1/webs": {fmt.Sprintf(`{"apiVersion":"ctl.example/v1","kind":"Web",`+
		`"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1","generation":1},"spec":{"text":%q},"status":{"observedGeneration":1,"ready":10}}`,
		strings.Repeat("x", 900))}}
	for i := range 10 {
		const owner = `"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]`
		objects["/api/v1/configmaps"] = append(objects["/api/v1/configmaps"], small(i, fmt.Sprintf(
			`"uid":"u-%d","resourceVersion":"1",%s,"annotations":{"metacontroller.k8s.io/last-applied-configuration":%q},`, i, owner, small(i, ""))))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		for _, o := range objects[r.URL.Path] {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", o)
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL}
}

// answerOfTen is the answer of a hook that wants the ten children as they are, with more fields, each
// behind a comma.
func answerOfTen(more string) string {
	var children []string
	for i := range 10 {
		children = append(children, small(i, ""))
	}
	return fmt.Sprintf(`{"status":{"ready":10},"children":[%s]%s}`, strings.Join(children, ","), more)
}

// controllerOfTen is a controller of the parent with ten children and a hook, which has seen them.
func controllerOfTen(t testing.TB, url string) *Controller {
	configMaps := pipeline.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	return controllerAt(t, hostOfTen(t), Dependencies{
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
	}, specOf(at(url), configMaps))
}
