// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

// restAfterWork is the time without a sync and without a request about objects after which the process is at rest.
const restAfterWork = 10 * time.Second

// activity counts the syncs and requests that are under way, and puts the process to rest while there are none. Its
// methods may be called concurrently.
type activity struct {
	// setAtRest puts the process to rest if it is given true, and ends the rest if it is given false.
	setAtRest func(bool) error
	// after is the time without work after which a rest begins.
	after   time.Duration
	created time.Time
	// end is what begin returns. It is made once, so that begin allocates nothing.
	end func()

	underWay atomic.Int64
	lastEnd  atomic.Int64 // when the last work ended, in nanoseconds since created
	atRest   atomic.Bool

	mu    sync.Mutex
	timer *time.Timer // nil before start and after stop
}

// newActivity returns the activity of a process that has not started to serve.
func newActivity(setAtRest func(bool) error, after time.Duration) *activity {
	a := &activity{setAtRest: setAtRest, after: after, created: time.Now()}
	a.end = func() {
		a.lastEnd.Store(int64(time.Since(a.created)))
		a.underWay.Add(-1)
	}
	return a
}

// begin counts a sync or a request, and ends a rest before it returns. The caller calls end when the sync or the request
// has ended.
func (a *activity) begin() (end func()) {
	a.underWay.Add(1)
	if a.atRest.Load() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.wake()
	}
	return a.end
}

// start lets the process rest while there is no work, until ctx ends or stop is called. A rest ends then, too.
func (a *activity) start(ctx context.Context) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.setAtRest(false); err != nil {
		klog.Background().V(2).Info("The server wakes as often without work as with it, because the timer slack cannot be set", "err", err)
		return func() {}
	}
	a.lastEnd.Store(int64(time.Since(a.created)))
	a.timer = time.AfterFunc(a.after, a.rest)
	forget := context.AfterFunc(ctx, a.stop)
	return func() {
		forget()
		a.stop()
	}
}

func (a *activity) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.wake()
		a.timer.Stop()
		a.timer = nil
	}
}

// rest is called by the timer. It begins a rest if there was no work for long enough; else it sets the timer again.
func (a *activity) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		return
	}
	// begin counts first and then reads atRest. Here it is the other way round, so that one of the two sees the other.
	a.atRest.Store(true)
	idle := time.Since(a.created) - time.Duration(a.lastEnd.Load())
	if a.underWay.Load() > 0 {
		idle = 0
	}
	if idle < a.after {
		a.atRest.Store(false)
		a.timer.Reset(a.after - idle)
		return
	}
	a.set(true)
}

// wake ends a rest, if there is one. The caller holds the lock.
func (a *activity) wake() {
	if a.timer == nil || !a.atRest.Swap(false) {
		return
	}
	a.set(false)
	a.timer.Reset(a.after)
}

// set begins or ends a rest. An error is only logged: it is not expected, because start has set the same successfully.
func (a *activity) set(atRest bool) {
	if err := a.setAtRest(atRest); err != nil {
		klog.Background().Error(err, "Failed to begin or end the rest of the server", "atRest", atRest)
	}
}

// onResourceRequest makes a server call begin when a request about objects begins, and end when the request ends. It leaves out
// watches, because they mostly wait, and other requests, because probes and scrapes come to an idle server as well.
func onResourceRequest(generic *genericapiserver.Config, begin func() (end func())) {
	build := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(next http.Handler, config *genericapiserver.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if info, found := request.RequestInfoFrom(r.Context()); found && info.IsResourceRequest && info.Verb != "watch" {
				defer begin()()
			}
			next.ServeHTTP(w, r)
		}), config)
	}
}
