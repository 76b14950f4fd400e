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

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// A sync may run after a parent has lost its last finalizer and before the watch tells that the parent is gone.
func TestTheFinalizerOfAParentIsRemovedOnce(t *testing.T) {
	const metadata = `"name":"a","namespace":"default","uid":"u","resourceVersion":"1","deletionTimestamp":"2026-03-04T05:06:07Z"`
	removed := make(chan struct{})
	var writes atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		send := func(event, metadata string) {
			_, _ = fmt.Fprintf(w, `{"type":%q,"object":{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{%s}}}`+"\n", event, metadata)
			w.(http.Flusher).Flush()
		}
		switch {
		case r.Method == http.MethodPut: // the host answers with the version before
			writes.Add(1)
			_, _ = io.WriteString(w, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{`+metadata+`}}`)
		case r.URL.Query().Get("watch") == "true":
			if strings.HasSuffix(r.URL.Path, "/webs") {
				send("ADDED", metadata+`,"finalizers":["metacontroller.io/compositecontroller-webs"]`)
			}
			send("BOOKMARK", `"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}`)
			select {
			case <-removed:
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
	config := &rest.Config{Host: server.URL}
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := controllerAt(t, config, Dependencies{Events: events}, specOf(at("http://hooks.example")))
	for i := range 2 {
		if next := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); next != syncqueue.RequeueAfter(readBackInterval) {
			t.Errorf("sync %d: next is %+v, but the parent is not yet seen to be gone", i, next)
		}
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("the finalizer was removed %d times", n)
	}
	close(removed)
	for c.observer.Get(web("a")) != nil {
		<-time.After(time.Millisecond)
	}
	if next := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); next != syncqueue.Forget() || c.parents.find(web("a")) != nil {
		t.Errorf("the parent is gone, but next is %+v", next)
	}
}
