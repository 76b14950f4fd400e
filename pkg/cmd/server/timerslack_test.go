// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

func TestTimersMayBeLateOnlyWhileThereIsNoWork(t *testing.T) {
	const almost = restAfterWork - time.Second
	tests := map[string]struct {
		happens func(*timerSlack)
		want    []time.Duration
	}{
		"just after the start": {func(*timerSlack) {}, []time.Duration{slackAtWork}},
		"after a rest":         {func(*timerSlack) { pass(restAfterWork) }, []time.Duration{slackAtWork, slackAtRest}},
		"work all the time": {func(s *timerSlack) {
			for range 10 {
				pass(almost)
				s.work()
			}
		}, []time.Duration{slackAtWork}},
		"work ends a rest, once": {func(s *timerSlack) {
			pass(restAfterWork)
			s.work()
			s.work()
			pass(almost)
		}, []time.Duration{slackAtWork, slackAtRest, slackAtWork}},
		"the next rest begins as long after the last work": {func(s *timerSlack) {
			pass(restAfterWork)
			s.work()
			pass(almost)
			s.work()
			pass(restAfterWork)
		}, []time.Duration{slackAtWork, slackAtRest, slackAtWork, slackAtRest}},
		"stop ends a rest, and none begins": {func(s *timerSlack) {
			pass(restAfterWork)
			s.stop()
			pass(restAfterWork)
			s.work()
		}, []time.Duration{slackAtWork, slackAtRest, slackAtWork}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var set []time.Duration
				slack := newTimerSlack(func(to time.Duration) error { set = append(set, to); return nil }, restAfterWork)
				test.happens(slack)
				if !slices.Equal(set, test.want) {
					t.Errorf("the slack is %v, want %v", set, test.want)
				}
				slack.stop()
			})
		})
	}
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestASlackThatTheSystemRefusesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := 0
		slack := newTimerSlack(func(time.Duration) error { tried++; return errors.ErrUnsupported }, restAfterWork)
		pass(restAfterWork)
		slack.work()
		slack.stop()
		if tried != 1 {
			t.Errorf("it is tried %d times", tried)
		}
	})
}

func TestRequestsAboutObjectsAreWork(t *testing.T) {
	for name, test := range map[string]struct {
		info *request.RequestInfo
		work bool
	}{
		"a list of objects":          {&request.RequestInfo{IsResourceRequest: true, Resource: "compositecontrollers"}, true},
		"a probe":                    {&request.RequestInfo{Path: "/readyz"}, false},
		"a request that is not read": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			generic := &genericapiserver.Config{BuildHandlerChainFunc: func(handler http.Handler, _ *genericapiserver.Config) http.Handler { return handler }}
			work := false
			onResourceRequest(generic, func() { work = true })
			answered := false
			handler := generic.BuildHandlerChainFunc(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered = true }), generic)
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if test.info != nil {
				r = r.WithContext(request.WithRequestInfo(r.Context(), test.info))
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
			if work != test.work || !answered {
				t.Errorf("work: %v, want %v; answered: %v", work, test.work, answered)
			}
		})
	}
}
