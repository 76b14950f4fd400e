// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// small is a ConfigMap of 1 KB, with more metadata if the host shows it.
func small(i int, more string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","data":{"config":%q},"kind":"ConfigMap","metadata":{%s"labels":{"controller-uid":"u"},"name":"a-%d","namespace":"default"}}`,
		strings.Repeat("key=value\n", 80), more, i)
}

// hostOfTen serves watches of a parent of 1 KB, webs/a, and of its ten children.
func hostOfTen(b *testing.B) *rest.Config {
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
		for _, o := range objects[r.URL.Path] {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", o)
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL}
}

// hookOfTen answers with the ten children as they are. It does little else, so that what is
// measured is what the one who asks takes.
func hookOfTen(b *testing.B) string {
	var children []string
	for i := range 10 {
		children = append(children, small(i, ""))
	}
	body := fmt.Sprintf(`{"status":{"ready":10},"children":[%s]}`, strings.Join(children, ","))
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var serving sync.WaitGroup
	b.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { answerAll(connection, answer) })
		}
	})
	return "http://" + listener.Addr().String()
}

// answerAll answers all requests of a connection alike, until whoever asks closes it.
func answerAll(connection net.Conn, answer []byte) {
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}

// BenchmarkQuietSync is a whole sync of a parent with ten children that finds nothing to do,
// the call of the hook and the hook's own work included.
func BenchmarkQuietSync(b *testing.B) {
	client, err := host.NewClient(hostOfTen(b), host.FieldManager)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	b.Cleanup(cancel)
	configMaps := stage.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	spec := specOf(at(hookOfTen(b)), configMaps)
	c, err := New(Dependencies{
		Watches: host.NewWatches(ctx, client), Workers: 1, Actor: &act.Actor{Parallel: 1}, Metrics: prometheus.NewRegistry(),
		Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
	}, spec)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	for _, watch := range c.watches() {
		if err := watch.WaitForSync(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if verdict := c.sync(b.Context(), web("a")); verdict != hosted.Done(0) {
			b.Fatal(verdict, c.Health().LastError)
		}
	}
}
