// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// hostOfOne serves watches of webs/a, with more metadata, and forbids everything else.
func hostOfOne(t *testing.T, more string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web",
			"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"%s}}}
			{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",
				"annotations":{"k8s.io/initial-events-end":"true"}}}}`, more)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return &rest.Config{Host: server.URL}
}

func TestWithoutAChildTypeOnlyDeletionsGoOn(t *testing.T) {
	const deleted = `,"deletionTimestamp":"2026-03-04T05:06:07Z",
		"finalizers":["metacontroller.io/compositecontroller-webs"]`
	for name, test := range map[string]struct {
		more  string
		calls int32
	}{
		"a parent says what is missing":              {"", 0},
		"the hook is called about one that is going": {deleted, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			answering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				_, _ = io.WriteString(w, `{"status":{},"children":[],"finalized":false}`)
			}))
			t.Cleanup(answering.Close)
			spec := specOf(at(answering.URL))
			spec.Finalize, spec.Lacks = &v1alpha1.Hook{Webhook: new(at(answering.URL))}, errors.New("a type is missing")
			c := controllerAt(t, hostOfOne(t, test.more), Dependencies{
				Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
			}, spec)
			result := c.syncParent(t.Context(), web("a"), c.parents.get(web("a")), syncqueue.ParentChanged)
			if got := calls.Load(); got != test.calls {
				t.Errorf("the hook was called %d times, want %d: %v", got, test.calls, result.err)
			}
			if saysSo := errors.Is(result.err, spec.Lacks); saysSo != (test.calls == 0) {
				t.Errorf("the error is %v", result.err)
			}
		})
	}
}
