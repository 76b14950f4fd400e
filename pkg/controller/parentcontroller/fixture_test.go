// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

var (
	webs = object.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web",
		Namespaced: true, StatusSubresource: true,
	}
	pods = object.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, StatusSubresource: true,
	}
)

// specOf is the spec of a controller for all Webs with a sync hook.
func specOf(webhook v1alpha1.Webhook, children ...object.Type) *Spec {
	return &Spec{
		Kind: Kind{
			Name: "CompositeController", FinalizerPrefix: "metacontroller.io/compositecontroller-",
			Stages: planner.Stages{CallHook: (*hook.Webhook).SyncComposite, Plan: plan.Composite, PlanInputsHash: plan.CompositeInputs},
		},
		Name: "webs", Object: []byte(`{}`),
		Targets:  []Target{{Type: webs, Rules: []observe.Rule{{Labels: labels.Everything()}}}},
		Children: children, Claims: observe.NewLabelClaims(true),
		Sync: &v1alpha1.Hook{Webhook: &webhook},
	}
}

func at(url string) v1alpha1.Webhook { return v1alpha1.Webhook{URL: &url} }

// snapshotOf begins the snapshot of a parent.
func snapshotOf(name string) *pipeline.Snapshot {
	return &pipeline.Snapshot{Parent: &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}}
}

// web is the key of a parent.
func web(name string) object.Key {
	return object.Key{GroupKind: webs.GroupKind(), NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

// controllerAt makes the controller of a spec at a host, and waits until its caches are filled.
func controllerAt(t testing.TB, config *rest.Config, dependencies Dependencies, spec *Spec) *Controller {
	t.Helper()
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	dependencies.Informers, dependencies.Workers = cache.NewInformers(ctx, client, 0), 1
	dependencies.Actor = &act.Actor{Writer: host.NewWriter(client, 1), Parallel: 1}
	c, err := New(dependencies, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, view := range c.views() {
		if err := view.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

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

// answerOfTen is the answer of a hook that wants the ten children as they are, with more fields,
// each behind a comma.
func answerOfTen(more string) string {
	var children []string
	for i := range 10 {
		children = append(children, small(i, ""))
	}
	return fmt.Sprintf(`{"status":{"ready":10},"children":[%s]%s}`, strings.Join(children, ","), more)
}

// controllerOfTen is a controller whose caches show the parent with ten children.
func controllerOfTen(t testing.TB, url string) *Controller {
	configMaps := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	return controllerAt(t, hostOfTen(t), Dependencies{
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
		Syncs: &rows.Syncs{}, Calls: calllog.New(time.Now()),
	}, specOf(at(url), configMaps))
}

// hookOfTen answers with the ten children as they are. It does little else, so that the caller is
// measured.
func hookOfTen(t testing.TB) string {
	body := answerOfTen("")
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
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

// answerAll answers all requests of a connection alike, until the client closes it.
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

// hostOf serves watches of one parent, webs/a, and of no children, and takes events. It refuses to
// create pods as if the name were taken, but finds no pod of that name.
func hostOf(t *testing.T) (config *rest.Config, events chan corev1.Event) {
	t.Helper()
	return hostOfText(t, "", "")
}

// hostOfText is hostOf with a text in the spec of the parent, and with a status behind a comma.
func hostOfText(t *testing.T, text, status string) (config *rest.Config, events chan corev1.Event) {
	t.Helper()
	events = make(chan corev1.Event, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
			var event corev1.Event
			if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
				t.Errorf("an event cannot be read: %v", err)
			}
			events <- event
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(event)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods"):
			w.WriteHeader(http.StatusConflict)
		case r.URL.Query().Get("watch") == "true":
			kind, apiVersion := "Pod", "v1"
			if strings.HasSuffix(r.URL.Path, "/webs") {
				kind, apiVersion = "Web", "ctl.example/v1"
				_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web",
					"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"},"spec":{"text":%q}%s}}`, text, status)
			}
			_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,
				"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`, kind, apiVersion)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, events
}

// made is a controller on a host that serves no watch.
func made(t *testing.T) *Controller {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(at("http://hooks.example"), pods)
	spec.Resync = time.Second
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	actor := &act.Actor{Writer: host.NewWriter(client, 1), Parallel: 1}
	c, err := New(Dependencies{Informers: cache.NewInformers(ctx, client, 0), Actor: actor, Settings: Settings{Workers: 2}, Metrics: prometheus.NewRegistry()}, spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func configMap(t *testing.T, name, metadata string) *object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default",%s}}`, name, metadata))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func child(kind, namespace, name string) object.Key {
	return object.Key{GroupKind: schema.GroupKind{Kind: kind}, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// eventsOf returns a writer of at most ten events about an object, and the events that it has written.
func eventsOf(t *testing.T) (*report.Events, chan corev1.Event) {
	t.Helper()
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1e-3, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	return events, sent
}
