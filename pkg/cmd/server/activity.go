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

// activity knows whether the process has work, and puts it to rest while it has none. Its methods may be called
// concurrently.
type activity struct {
	setAtRest func(bool) error
	after     time.Duration
	created   time.Time
	end       func() // of one piece of work

	underWay atomic.Int64
	lastEnd  atomic.Int64 // when work ended, as the time since created
	atRest   atomic.Bool

	mu    sync.Mutex
	timer *time.Timer // nil before start and after stop
}

// newActivity returns the activity of a process that setAtRest puts to rest with true and to work with false. It rests
// when nothing was under way for a time.
func newActivity(setAtRest func(bool) error, after time.Duration) *activity {
	a := &activity{setAtRest: setAtRest, after: after, created: time.Now()}
	a.end = func() {
		a.lastEnd.Store(int64(time.Since(a.created)))
		a.underWay.Add(-1)
	}
	return a
}

// begin says that work begins. The caller calls end when it has ended.
func (a *activity) begin() (end func()) {
	a.underWay.Add(1)
	if a.atRest.Load() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.wake()
	}
	return a.end
}

// start has the process work, and rest while it has no work, until ctx ends or stop is called.
func (a *activity) start(ctx context.Context) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.setAtRest(false); err != nil {
		klog.Background().V(2).Info("The process wakes as often at rest as at work", "err", err)
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

// rest begins a rest, unless there is work or was until a moment ago.
func (a *activity) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		return
	}
	a.atRest.Store(true) // before it looks, so that work which begins meanwhile ends the rest
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

// wake ends a rest. The caller holds the lock.
func (a *activity) wake() {
	if a.timer == nil || !a.atRest.Swap(false) {
		return
	}
	a.set(false)
	a.timer.Reset(a.after)
}

// set does what start could do as well, so it does not fail.
func (a *activity) set(atRest bool) {
	if err := a.setAtRest(atRest); err != nil {
		klog.Background().Error(err, "The process can no longer rest or end its rest", "atRest", atRest)
	}
}

// onResourceRequest has a server call begin for each request about objects. Other requests, such as probes, come to a server
// at rest as well, and watches only wait.
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
