// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// Whoever made a request is the only user of its buffer in the end, wherever it was redirected: neither is the buffer
// another's before, nor is it lost.
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
			ask(t.Context(), http.MethodGet, nil) // over the same connection, so that all that was sent before has been told
			if users := posted.users.Load(); users != 1 {
				t.Errorf("the buffer has %d users, want one", users)
			}
		})
	}
}
