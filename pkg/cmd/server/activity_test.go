// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
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

func TestTheProcessRestsOnlyWhileThereIsNoWork(t *testing.T) {
	const almost = restAfterWork - time.Second
	const rests, works = true, false
	tests := map[string]struct {
		happens func(a *activity, stop func())
		want    []bool
	}{
		"just after the start": {func(*activity, func()) { pass(almost) }, nil},
		"without work":         {func(*activity, func()) { pass(time.Hour) }, []bool{rests}},
		"with work again and again": {func(a *activity, _ func()) {
			for range 10 {
				pass(almost)
				a.begin()()
			}
		}, nil},
		"with work that takes long": {func(a *activity, _ func()) {
			end := a.begin()
			pass(time.Hour)
			end()
			pass(almost)
		}, nil},
		"after work that took long": {func(a *activity, _ func()) {
			end := a.begin()
			pass(time.Hour)
			end()
			pass(2 * restAfterWork)
		}, []bool{rests}},
		"work wakes it once": {func(a *activity, _ func()) {
			pass(restAfterWork)
			a.begin()()
			a.begin()()
			pass(almost)
		}, []bool{rests, works}},
		"the next rest begins as long after the last work": {func(a *activity, _ func()) {
			pass(restAfterWork)
			a.begin()()
			pass(almost)
			a.begin()()
			pass(almost)
			a.begin()()
			pass(restAfterWork)
		}, []bool{rests, works, rests}},
		"stop wakes it for good": {func(a *activity, stop func()) {
			pass(restAfterWork)
			stop()
			pass(restAfterWork)
			a.begin()()
		}, []bool{rests, works}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []bool
				a := newActivity(func(rest bool) error { got = append(got, rest); return nil }, restAfterWork)
				stop := a.start(t.Context())
				test.happens(a, stop)
				if want := append([]bool{works}, test.want...); !slices.Equal(got, want) {
					t.Errorf("it rests: %v, want %v", got, want)
				}
				stop()
			})
		})
	}
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestTheProcessRestsOnlyWhileItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []bool
		a := newActivity(func(rest bool) error { got = append(got, rest); return nil }, restAfterWork)
		pass(time.Hour)
		serving, end := context.WithCancel(t.Context())
		stop := a.start(serving)
		pass(restAfterWork)
		end()
		pass(time.Hour)
		if want := []bool{false, true, false}; !slices.Equal(got, want) {
			t.Errorf("it rests: %v, want %v", got, want)
		}
		stop()
	})
}

func TestAProcessThatCannotRestDoesNotTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := 0
		a := newActivity(func(bool) error { tried++; return errors.ErrUnsupported }, restAfterWork)
		stop := a.start(t.Context())
		pass(time.Hour)
		a.begin()()
		stop()
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
		"a list of objects":         {&request.RequestInfo{IsResourceRequest: true, Verb: "list"}, true},
		"a watch":                   {&request.RequestInfo{IsResourceRequest: true, Verb: "watch"}, false},
		"a probe":                   {&request.RequestInfo{Path: "/readyz"}, false},
		"a request of unknown kind": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			generic := &genericapiserver.Config{BuildHandlerChainFunc: func(handler http.Handler, _ *genericapiserver.Config) http.Handler { return handler }}
			var happened []string
			note := func(what string) { happened = append(happened, what) }
			onResourceRequest(generic, func() func() {
				note("begin")
				return func() { note("end") }
			})
			handler := generic.BuildHandlerChainFunc(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { note("answer") }), generic)
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if test.info != nil {
				r = r.WithContext(request.WithRequestInfo(r.Context(), test.info))
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
			want := []string{"answer"}
			if test.work {
				want = []string{"begin", "answer", "end"}
			}
			if !slices.Equal(happened, want) {
				t.Errorf("%v happens, want %v", happened, want)
			}
		})
	}
}
