// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// Without related objects, the sync hook could answer that children are to be deleted.
func TestTheSyncHookWaitsForTheCustomizeHook(t *testing.T) {
	for name, test := range map[string]struct {
		customize http.HandlerFunc
		want      syncqueue.Result
		err       string // part of the last error; empty if the parent does not fail
	}{
		"that fails": {
			customize: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "on fire", http.StatusInternalServerError) },
			want:      syncqueue.Backoff(0), err: "customize hook failed",
		},
		"that asks to be called later": {
			customize: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(http.StatusTooManyRequests)
			},
			want: syncqueue.RequeueAfter(2 * time.Second),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var answers atomic.Bool
			var syncs atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path != "/customize":
					syncs.Add(1)
					_, _ = io.WriteString(w, `{"children":[]}`)
				case answers.Load():
					_, _ = io.WriteString(w, `{"relatedResources":[]}`)
				default:
					test.customize(w, r)
				}
			}))
			t.Cleanup(server.Close)
			spec, customize := specOf(at(server.URL)), at(server.URL+"/customize")
			spec.Customize = &v1alpha1.Hook{Webhook: &customize}
			config, _ := hostOf(t)
			events, _ := eventsOf(t)
			c := controllerAt(t, config, Dependencies{
				Metrics: prometheus.NewRegistry(), Events: events, Discovery: &discovery.Discovery{},
				Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}},
			}, spec)

			if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != test.want {
				t.Errorf("the result is %v, want %v", result, test.want)
			}
			last := ""
			if failure := c.Health().LastError; failure != nil {
				last = failure.Message
			}
			if (last == "") != (test.err == "") || !strings.Contains(last, test.err) {
				t.Errorf("the last error is %q, want %q", last, test.err)
			}
			if called := syncs.Load(); called > 0 {
				t.Errorf("the sync hook was called %d times", called)
			}
			answers.Store(true)
			c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
			if called := syncs.Load(); called != 1 {
				t.Errorf("once the customize hook answers, the sync hook was called %d times, want once", called)
			}
		})
	}
}
