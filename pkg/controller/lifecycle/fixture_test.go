// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// fixture is a Reconciler of CompositeControllers that runs, with an API of its own and a host.
type fixture struct {
	*Reconciler
	own     *fake.Clientset
	host    *fakeHost
	reviews *reviews
	// heldBy is why controllers are held; nil if they are not.
	heldBy *atomic.Pointer[error]
}

// newFixture returns a Reconciler that runs until the test ends. Its host has the types of hosttest.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, fake.NewSimpleClientset())
}

// newFixtureWith is newFixture with the client of its own API.
func newFixtureWith(t *testing.T, own *fake.Clientset) *fixture {
	t.Helper()
	f := makeFixture(t, own)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return f
}

// makeFixture returns a Reconciler that the test runs, with the client of its own API. All that it depends on runs until the
// test ends.
func makeFixture(t *testing.T, own *fake.Clientset) *fixture {
	t.Helper()
	fakeHost := &fakeHost{behaviours: map[string]behaviour{}, asked: map[string]int{}, changed: make(chan struct{})}
	server := httptest.NewServer(fakeHost)
	config := &rest.Config{Host: server.URL}
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	events, err := report.NewEvents(context.WithoutCancel(ctx), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	informers := externalversions.NewSharedInformerFactory(own, 0)
	stored, err := store.New(own, externalversions.NewSharedInformerFactory(own, 0))
	if err != nil {
		t.Fatal(err)
	}
	objects := cache.NewInformers(ctx, client, 0)
	reviews, heldBy := &reviews{}, &atomic.Pointer[error]{}
	heldBy.Store(new(error))
	dependencies := parentcontroller.Dependencies{
		Permissions: permissions.New(reviews),
		Informers:   objects, Discovery: hosttest.Discovery(t), Actor: &act.Actor{Writer: host.NewWriter(client, 1), Parallel: 1},
		Events: events, Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics(), Sources: objects},
		Settings: parentcontroller.Settings{Workers: 1}, Metrics: prometheus.NewRegistry(), Revisions: stored, Held: func() error { return *heldBy.Load() },
	}
	drainer := drain.New(client, dependencies.Discovery, dependencies.Actor, events.NotFinalized)
	f := &fixture{Reconciler: ForComposites(own, informers, dependencies, drainer), own: own, host: fakeHost, reviews: reviews, heldBy: heldBy}
	informers.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { stored.Run(ctx) })
	running.Go(func() { dependencies.Permissions.Run(ctx) })
	running.Go(func() { drainer.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		informers.Shutdown()
		objects.Shutdown()
		events.Shutdown()
		server.CloseClientConnections()
		server.Close()
	})
	return f
}

// controllerOf is a controller of Webs with these child types.
func controllerOf(name string, children ...string) *v1alpha1.CompositeController {
	hook := &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: new(string)}}
	*hook.Webhook.URL = "http://127.0.0.1:1"
	object := &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: rules("ctl.example/v1 webs")[0]},
			Hooks:          &v1alpha1.CompositeControllerHooks{Sync: hook},
		},
	}
	for _, rule := range rules(children...) {
		object.Spec.ChildResources = append(object.Spec.ChildResources, v1alpha1.CompositeControllerChildResourceRule{ResourceRule: rule})
	}
	return object
}

func (f *fixture) create(t *testing.T, object *v1alpha1.CompositeController) {
	t.Helper()
	if _, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// update changes the spec of a controller.
func (f *fixture) update(t *testing.T, name string, change func(object *v1alpha1.CompositeController)) {
	t.Helper()
	client := f.own.MetacontrollerV1alpha1().CompositeControllers()
	object, err := client.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(object)
	object.Generation++
	if _, err := client.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ready returns the condition Ready of the current spec, written as "True Running: text"; empty if
// there is none yet.
func (f *fixture) ready(t *testing.T, name string) string {
	t.Helper()
	object, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	if said == nil || said.ObservedGeneration != object.Generation {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", said.Status, said.Reason, said.Message)
}

// untilReady waits until the condition Ready of the current spec begins with a text and contains
// others.
func (f *fixture) untilReady(t *testing.T, name, begin string, parts ...string) {
	t.Helper()
	waitUntil(t, func() string { return "Ready is " + f.ready(t, name) }, func() bool {
		said := f.ready(t, name)
		for _, part := range parts {
			if !strings.Contains(said, part) {
				return false
			}
		}
		return said != "" && strings.HasPrefix(said, begin)
	})
}

func waitUntil(t *testing.T, state func() string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatal("it never happens; ", state())
	}
}

// behaviour is how the host answers requests for objects of a type. It has no objects.
type behaviour int

const (
	// streams: it streams lists, and then keeps the watch open.
	streams behaviour = iota
	forbids
	// hangs: it does not end its answers.
	hangs
	// hangsAtPages: it does not answer requests for pages.
	hangsAtPages
	// breaks: it fails lists, and ends watches with an error as soon as they have begun.
	breaks
)

const conversionFailed = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"conversion webhook failed"}`

// fakeHost serves lists and watches, and takes events.
type fakeHost struct {
	mu sync.Mutex
	// behaviours are those of resources.
	behaviours map[string]behaviour
	// changed is closed and replaced when a behaviour changes. All open requests then end.
	changed chan struct{}
	// asked counts the lists of resources that were not streamed.
	asked map[string]int
}

func (h *fakeHost) set(resource string, b behaviour) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.behaviours[resource] = b
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *fakeHost) lists(resource string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[resource]
}

func (h *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, query := path.Base(r.URL.Path), r.URL.Query()
	isWatch := query.Get("watch") == "true"
	h.mu.Lock()
	behaviour, changed := h.behaviours[resource], h.changed
	if r.Method == http.MethodGet && !isWatch {
		h.asked[resource]++
	}
	h.mu.Unlock()
	hang := func() {
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodGet: // an event
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"}}`)
	case behaviour == forbids:
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"%s is forbidden"}`, resource)
	case behaviour == hangs, behaviour == hangsAtPages && !isWatch:
		hang()
	case behaviour == breaks && !isWatch:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprint(w, conversionFailed)
	case !isWatch:
		_, _ = fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	case behaviour == breaks:
		_, _ = fmt.Fprintf(w, `{"type":"ERROR","object":%s}`, conversionFailed)
	default:
		if query.Get("sendInitialEvents") == "true" {
			_, _ = fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Any","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		}
		hang()
	}
}
