// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

// The libraries of the server have some thirty timers a second, and Go's scheduler sleeps for microseconds at a
// time. The timer slack is how late the kernel may end such a sleep, so that one wake-up serves several timers. It
// delays nothing that comes over the network.
const (
	// slackAtWork is not noticed by a user, and spares most wake-ups of Go's scheduler. Linux has 50 µs by default.
	slackAtWork = time.Millisecond
	// slackAtRest is for a server that has nothing to do.
	slackAtRest = 200 * time.Millisecond
	// restAfterWork is the time without work after which the server is at rest.
	restAfterWork = 10 * time.Second
)

// timerSlack sets the timer slack of the process by whether it has work. Its methods may be called concurrently.
type timerSlack struct {
	set       func(time.Duration) error
	restAfter time.Duration
	started   time.Time

	worked atomic.Int64 // when the last work began, as the time since started
	atRest atomic.Bool

	mu    sync.Mutex
	timer *time.Timer // nil while the slack cannot be set, and after stop
}

// newTimerSlack sets the slack of a process that works. If the system refuses it, the slack stays as it is.
func newTimerSlack(set func(time.Duration) error, restAfter time.Duration) *timerSlack {
	s := &timerSlack{set: set, restAfter: restAfter, started: time.Now()}
	if err := set(slackAtWork); err != nil {
		klog.Background().V(2).Info("Timers are as exact as the system makes them", "err", err)
		return s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(restAfter, s.rest)
	return s
}

// work says that a request or a sync begins. It ends a rest.
func (s *timerSlack) work() {
	s.worked.Store(int64(time.Since(s.started)))
	if s.atRest.Load() {
		s.wake()
	}
}

func (s *timerSlack) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil || !s.atRest.Swap(false) {
		return
	}
	_ = s.set(slackAtWork) // it could be set before
	s.timer.Reset(s.restAfter)
}

// rest begins a rest, unless there was work since the timer was set.
func (s *timerSlack) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		return
	}
	s.atRest.Store(true) // before it looks, so that work which begins now wakes it
	if left := s.restAfter - (time.Since(s.started) - time.Duration(s.worked.Load())); left > 0 {
		s.atRest.Store(false)
		s.timer.Reset(left)
		return
	}
	_ = s.set(slackAtRest)
}

// stop ends a rest for good.
func (s *timerSlack) stop() {
	s.wake()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// onResourceRequest has a server call begun for each request about objects. Other requests, such as probes, come to a server
// at rest as well.
func onResourceRequest(generic *genericapiserver.Config, begun func()) {
	build := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(next http.Handler, config *genericapiserver.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if info, found := request.RequestInfoFrom(r.Context()); found && info.IsResourceRequest {
				begun()
			}
			next.ServeHTTP(w, r)
		}), config)
	}
}
