// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// hostOfWeb serves a watch of one parent, webs/a, with that metadata, until it is removed. It answers all writes of it with
// another metadata, and counts them.
type hostOfWeb struct {
	*rest.Config
	writes  atomic.Int32
	removed chan struct{}
}

func newHostOfWeb(t *testing.T, metadata, answer string) *hostOfWeb {
	t.Helper()
	host := &hostOfWeb{removed: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		send := func(event, metadata string) {
			_, _ = fmt.Fprintf(w, `{"type":%q,"object":{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{%s}}}`+"\n", event, metadata)
			w.(http.Flusher).Flush()
		}
		switch {
		case r.Method == http.MethodPut:
			host.writes.Add(1)
			_, _ = io.WriteString(w, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{`+answer+`}}`)
		case r.URL.Query().Get("watch") == "true":
			if strings.HasSuffix(r.URL.Path, "/webs") {
				send("ADDED", metadata)
			}
			send("BOOKMARK", `"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}`)
			select {
			case <-host.removed:
				send("DELETED", strings.Replace(metadata, `"1"`, `"2"`, 1))
				<-r.Context().Done()
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	host.Config = &rest.Config{Host: server.URL}
	return host
}

// controller makes a controller of the host whose hooks answer that. It counts their calls.
func (h *hostOfWeb) controller(t *testing.T, answer string, change func(spec *Spec, webhook v1alpha1.Webhook)) (_ *Controller, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(hooks.Close)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), h.Config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	spec := specOf(at(hooks.URL))
	change(spec, at(hooks.URL))
	return controllerAt(t, h.Config, Dependencies{
		Events: events, Metrics: prometheus.NewRegistry(), Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
		Syncs: &rows.Syncs{}, Calls: calllog.New(time.Now()),
	}, spec), calls
}

// A sync may run after a parent has lost its last finalizer and before the watch tells that the parent is gone. The host answers the
// write with the version before it.
func TestTheLastFinalizerOfAParentIsRemovedOnce(t *testing.T) {
	const left = `"name":"a","namespace":"default","uid":"u","resourceVersion":"1","deletionTimestamp":"2026-03-04T05:06:07Z"`
	finalize := func(spec *Spec, webhook v1alpha1.Webhook) { spec.Finalize = &v1alpha1.Hook{Webhook: &webhook} }
	for name, test := range map[string]struct {
		finalizer, answer string
		change            func(spec *Spec, webhook v1alpha1.Webhook)
		calls             int32
	}{
		"no finalize hook is left":  {"compositecontroller", "", func(*Spec, v1alpha1.Webhook) {}, 0},
		"the finalize hook is done": {"compositecontroller", `{"children":[],"finalized":true}`, finalize, 1},
		"that of a DecoratorController is done": {"decoratorcontroller", `{"attachments":[],"finalized":true}`, func(spec *Spec, webhook v1alpha1.Webhook) {
			spec.Kind = Kind{
				Name: "DecoratorController", FinalizerPrefix: v1alpha1.DecoratorFinalizerPrefix,
				Stages: planner.Stages{CallHook: (*hook.Webhook).SyncDecorator, Plan: plan.Decorator, PlanInputsHash: plan.DecoratorInputs},
			}
			spec.Claims = observe.AnnotationClaims{Name: "webs"}
			finalize(spec, webhook)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHostOfWeb(t, left+`,"finalizers":["metacontroller.io/`+test.finalizer+`-webs"]`, left)
			c, calls := host.controller(t, test.answer, test.change)
			for range 3 {
				c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
			}
			if writes := host.writes.Load(); writes != 1 || calls.Load() != test.calls {
				t.Errorf("the finalizer was removed %d times, after %d calls of hooks, want %d", writes, calls.Load(), test.calls)
			}
			close(host.removed)
			for c.planner.Observer.Get(web("a")) != nil {
				<-time.After(time.Millisecond)
			}
			if next := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); next != syncqueue.Forget() || c.parents.find(web("a")) != nil {
				t.Errorf("the parent is gone, but next is %+v", next)
			}
		})
	}
}

// An admission policy may take a finalizer off as it is put on. The host then has nothing to store, and the parent stays.
func TestAParentWhoseFinalizerIsRefusedIsSynced(t *testing.T) {
	const metadata = `"name":"a","namespace":"default","uid":"u","resourceVersion":"1"`
	host := newHostOfWeb(t, metadata, metadata)
	c, calls := host.controller(t, `{"children":[]}`, func(spec *Spec, webhook v1alpha1.Webhook) { spec.Finalize = &v1alpha1.Hook{Webhook: &webhook} })
	for range 3 {
		c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("the hook was called %d times in 3 syncs", n)
	}
}
