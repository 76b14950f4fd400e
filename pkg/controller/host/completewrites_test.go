// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowHost answers a request after a while, unless its context ends before.
type slowHost time.Duration

func (h slowHost) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(h)):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("done"))}, nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

var errLost = errors.New("the Lease is lost")

func TestHowLongTheAnswerToARequestIsWaitedFor(t *testing.T) {
	const takes = 3 * time.Second
	tests := map[string]struct {
		method             string
		takes              time.Duration
		canceled, deadline time.Duration // after which the context ends; zero is never
		lost               time.Duration // after which the Lease is lost; zero is never
		want               time.Duration // after which the request returns
		err                error
	}{
		"a write whose context does not end":                  {method: http.MethodPost, takes: takes, want: takes},
		"a write is completed after its context was canceled": {method: http.MethodPut, takes: takes, canceled: time.Second, want: takes},
		"a write is given up ten seconds after that":          {method: http.MethodPatch, takes: time.Minute, canceled: time.Second, want: 11 * time.Second, err: context.Canceled},
		"a write is given up at its deadline":                 {method: http.MethodDelete, takes: takes, deadline: time.Second, want: time.Second, err: context.DeadlineExceeded},
		"a write is given up when the Lease is lost":          {method: http.MethodPut, takes: takes, canceled: time.Second, lost: 2 * time.Second, want: 2 * time.Second, err: context.Canceled},
		"a write that was not canceled, too":                  {method: http.MethodPost, takes: takes, lost: 2 * time.Second, want: 2 * time.Second, err: errLost},
		"a read is given up at once":                          {method: http.MethodGet, takes: takes, canceled: time.Second, want: time.Second, err: context.Canceled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.deadline > 0 {
					var end context.CancelFunc
					ctx, end = context.WithTimeout(ctx, test.deadline)
					defer end()
				}
				if test.canceled > 0 {
					defer time.AfterFunc(test.canceled, cancel).Stop()
				}
				held, lose := context.WithCancelCause(t.Context())
				defer lose(nil)
				if test.lost > 0 {
					defer time.AfterFunc(test.lost, func() { lose(errLost) }).Stop()
				}
				request, err := http.NewRequestWithContext(ctx, test.method, "https://host", nil)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				response, err := CompleteWrites(held, slowHost(test.takes)).RoundTrip(request)
				if !errors.Is(err, test.err) {
					t.Errorf("error %v, want %v", err, test.err)
				}
				if took := time.Since(began); took != test.want {
					t.Errorf("the request returned after %s, want %s", took, test.want)
				}
				if err != nil {
					return
				}
				if body, err := io.ReadAll(response.Body); err != nil || string(body) != "done" {
					t.Errorf("the answer is %q, %v", body, err)
				}
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestNoWriteBeginsAfterItsContextWasCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://host", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := CompleteWrites(t.Context(), slowHost(time.Hour)).RoundTrip(request)
	if err == nil {
		err = response.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was canceled", err)
	}
}
