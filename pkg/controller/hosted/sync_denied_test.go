// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// denyingHost serves watches of a parent, webs/a, and of its child, pods/p, and tries changes of the child. As
// long as it denies, admission denies them. Tried and deleted count the requests.
type denyingHost struct {
	denies         atomic.Bool
	tried, deleted atomic.Int32
}

const podInHost = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"p","resourceVersion":"1","labels":{"controller-uid":"u"},` +
	`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]},"spec":{"hostname":"old"}}`

func (h *denyingHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.Method {
	case http.MethodPatch:
		h.tried.Add(1)
		if h.denies.Load() {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"admission webhook \"x\" denied the request: no"}`)
			return
		}
		_, _ = io.WriteString(w, strings.Replace(podInHost, "old", "new", 1))
	case http.MethodPost: // the dry run of the creation
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":409,"reason":"AlreadyExists"}`)
	case http.MethodDelete:
		h.deleted.Add(1)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
	default:
		shown := podInHost
		if strings.HasSuffix(r.URL.Path, "/webs") {
			shown = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"},"status":{"observedGeneration":0}}`
		}
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`, shown)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// The policy that denies a change may be mended, and nothing tells of that.
func TestQ10ADeniedChangeIsTriedAgain(t *testing.T) {
	host := &denyingHost{}
	server := httptest.NewServer(host)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	wanting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"hostname":"new"}}]}`)
	}))
	t.Cleanup(wanting.Close)
	spec := specOf(at(wanting.URL), pods)
	spec.Strategies = plan.Strategies{pods.GroupKind(): {Method: plan.Recreate, Engine: plan.ServerSideApply}}
	c := controllerAt(t, &rest.Config{Host: server.URL}, Dependencies{Hook: hook.Options{MaxResponseBytes: 1 << 20, Metrics: hook.NewMetrics()}}, spec)
	state := c.parents.get(web("a"))

	host.denies.Store(true)
	for sync := range 2 {
		result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged)
		const denial = `can't recreate Pod default/p: admission webhook "x" denied the request: no`
		if result.err == nil || result.err.Error() != denial || state.children.AsWanted != 0 {
			t.Errorf("sync %d: the error is %v, want %q; %d children are as wanted", sync, result.err, denial, state.children.AsWanted)
		}
	}
	host.denies.Store(false)
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); result.err != nil {
		t.Errorf("once nothing denies it, the error is %v", result.err)
	}
	if tried, deleted := host.tried.Load(), host.deleted.Load(); tried != 3 || deleted != 1 {
		t.Errorf("it was tried %d times and deleted %d times, want 3 and 1", tried, deleted)
	}
}
