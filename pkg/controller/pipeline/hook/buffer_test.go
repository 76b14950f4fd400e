// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
)

func TestABufferIsUsedAgainWhenAllAreDoneWithIt(t *testing.T) {
	t.Parallel()
	var all bufferPool
	first := all.get()
	first.bytes = append(first.bytes, "first"...)
	_, again := first.reader(), first.reader()
	first.release()
	first.written(httptrace.WroteRequestInfo{})
	if second := all.get(); second == first {
		t.Fatal("it is used again while somebody may read it")
	}
	if got, err := io.ReadAll(again); err != nil || string(got) != "first" {
		t.Errorf("read %q, %v", got, err)
	}
	first.written(httptrace.WroteRequestInfo{})
	if first.users.Load() != 0 || len(first.bytes) != 0 {
		t.Errorf("it has %d users and %d bytes when nothing needs it any more", first.users.Load(), len(first.bytes))
	}
}

func TestABufferThatWasNotSentWellIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	var all bufferPool
	first := all.get()
	first.reader()
	first.written(httptrace.WroteRequestInfo{Err: io.ErrClosedPipe})
	first.release()
	if users := first.users.Load(); users != 1 {
		t.Errorf("it has %d users, want one: the transport, which may still read it", users)
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	t.Parallel()
	var all bufferPool
	large := all.get()
	large.bytes = make([]byte, maxPooledBytes+1)
	large.release()
	if next := all.get(); cap(next.bytes) > 0 {
		t.Errorf("there is room for %d bytes", cap(next.bytes))
	}
}

// After a call, the caller is the only user of its buffer, wherever the request was redirected. The
// buffer was neither given to another call too early, nor is it lost.
func TestABufferHasOneUserAfterARedirect(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{
		"to a request without a body":   http.StatusSeeOther,
		"to a request of the same body": http.StatusTemporaryRedirect,
		"none":                          http.StatusOK,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				if r.URL.Path == "/" {
					w.Header().Set("Location", "/there")
					w.WriteHeader(status)
				}
			})
			transport, _ := (*Metrics)(nil).measure(&http.Transport{MaxConnsPerHost: 1}, Sync, address, ControllerRef{})
			client := &http.Client{Transport: transport}
			ask := func(ctx context.Context, method string, posted *buffer) {
				request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if posted != nil {
					request.Body, request.ContentLength = posted.reader(), int64(len(posted.bytes))
					request.GetBody = func() (io.ReadCloser, error) { return posted.reader(), nil }
				}
				response, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			posted := new(bufferPool).get()
			posted.bytes = []byte("request")
			ask(context.WithValue(t.Context(), bufferKey{}, posted), http.MethodPost, posted)
			ask(t.Context(), http.MethodGet, nil) // over the same connection, after all that was sent before
			if users := posted.users.Load(); users != 1 {
				t.Errorf("the buffer has %d users, want one", users)
			}
		})
	}
}
