// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// promised is how long after an outage of a hook its parents are synced again, as the documentation promises.
const promised = 15 * time.Second

// outage is a controller whose hook is down for a while. It has the breaker, the report and the queue of a real one.
type outage struct {
	*Controller
	webhook *hook.Webhook

	mu     sync.Mutex
	states map[object.Key]*parentState
	// synced are the parents that were synced since the hook is back, and when.
	synced map[object.Key]time.Time
}

// newOutage returns the controller of a hook. It is called in the bubble of the test, and the hook runs outside of it:
// time passes in a bubble only while none of its goroutines waits for the network.
func newOutage(t *testing.T, url string) *outage {
	t.Helper()
	webhook, err := hook.New(hook.Sync, &v1alpha1.Hook{Webhook: new(at(url))}, nil,
		hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(webhook.Close)
	return &outage{
		Controller: unlinked(),
		webhook:    webhook, states: map[object.Key]*parentState{}, synced: map[object.Key]time.Time{},
	}
}

func (o *outage) sync(ctx context.Context, parent object.Key, cause syncqueue.Cause) syncqueue.Result {
	o.mu.Lock()
	state := o.states[parent]
	if state == nil {
		state = &parentState{}
		o.states[parent] = state
	}
	o.mu.Unlock()
	snapshot := snapshotOf(parent.Name)
	snapshot.Parent.UID, snapshot.Parent.Hash = types.UID(parent.Name), 1
	snapshot.Trigger, snapshot.Controller = cause.Trigger(), []byte(`{}`)
	_, err := o.webhook.SyncComposite(ctx, snapshot)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && o.synced[parent].IsZero() {
		o.synced[parent] = time.Now()
	}
	return o.conclude(ctx, parent, state, &syncFacts{err: err}, time.Now())
}

func answerWith(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestAllParentsAreSyncedSoonAfterAnOutage(t *testing.T) {
	for name, fail := range map[string]http.HandlerFunc{
		"without a connection": func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = conn.Close()
			}
		},
		"with errors":            answerWith(http.StatusInternalServerError),
		"with those of a proxy":  answerWith(http.StatusServiceUnavailable),
		"with a page of a proxy": answerWith(http.StatusNotFound),
		"with a page and 200": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html><body>We are back soon</body></html>")
		},
		"with a text and 200": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "no healthy upstream")
		},
		"with nothing and 200":      answerWith(http.StatusOK),
		"with 429 and without time": answerWith(http.StatusTooManyRequests),
	} {
		var down atomic.Bool
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				fail(w, r)
				return
			}
			_, _ = io.WriteString(w, `{"status":{},"children":[]}`)
		}))
		server.Config.SetKeepAlivesEnabled(false)
		server.Start()
		t.Cleanup(server.Close)
		for _, parents := range []int{1, 3, 10} {
			t.Run(fmt.Sprintf("%s, %d parents", name, parents), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := newOutage(t, server.URL)
					queue := syncqueue.New("webs", 5, nil, o.sync)
					ctx, cancel := context.WithCancel(t.Context())
					returned := make(chan struct{})
					go func() { defer close(returned); queue.Run(ctx) }()
					defer func() { cancel(); <-returned }()
					down.Store(true)
					for i := range parents {
						queue.Enqueue(syncqueue.ParentChanged, web(fmt.Sprint(i)))
					}
					// The hook is back just after calls have failed. This is the worst time, because the circuit is probed at
					// whole seconds.
					<-time.After(time.Hour + 100*time.Millisecond)
					down.Store(false)
					back := time.Now()
					<-time.After(time.Hour)
					o.mu.Lock()
					defer o.mu.Unlock()
					for i := range parents {
						after := o.synced[web(fmt.Sprint(i))].Sub(back)
						if after < 0 || after > promised+100*time.Millisecond { // the queue adds some milliseconds
							t.Errorf("parent %d is synced %s after the hook is back, want at most %s", i, after, promised)
						}
					}
				})
			})
		}
	}
}
