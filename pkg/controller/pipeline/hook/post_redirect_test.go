// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
)

// redirectedTo is the hook at a URL, with the redirects that are followed.
func redirectedTo(t *testing.T, url string, redirects transport.Redirects) *Webhook {
	t.Helper()
	made, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
		Options{MaxResponseBytes: limit, Redirects: redirects})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// Whoever serves a hook would else read what only the server reaches.
func TestARedirectStaysOnTheHostOfTheHook(t *testing.T) {
	for name, test := range map[string]struct {
		redirects transport.Redirects
		host      string
		follows   bool
	}{
		"to another port of the host":        {transport.SameHost, "127.0.0.1", true},
		"to another host":                    {transport.SameHost, "localhost", false},
		"to another host, and none is given": {"", "localhost", false},
		"to another host that is allowed":    {transport.AnyHost, "localhost", true},
	} {
		for _, status := range []int{
			http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				var reached atomic.Bool
				other := strings.Replace(serve(t, func(w http.ResponseWriter, _ *http.Request) {
					reached.Store(true)
					_, _ = io.WriteString(w, `{"status":{"secret":1}}`)
				}), "127.0.0.1", test.host, 1)
				address := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
				_, err := redirectedTo(t, address, test.redirects).SyncComposite(t.Context(), snapshot(t))
				if reached.Load() != test.follows || (err == nil) != test.follows {
					t.Errorf("it is reached: %v, the error is %v", reached.Load(), err)
				}
				if err != nil && (!strings.Contains(err.Error(), "--hook-redirects") || strings.Contains(err.Error(), "secret")) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

func TestARedirectDoesNotTellTheQuery(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		headers := make(chan http.Header, 1)
		other := serve(t, func(w http.ResponseWriter, r *http.Request) {
			headers <- r.Header.Clone()
			_, _ = io.WriteString(w, "{}")
		})
		other = strings.Replace(other, "127.0.0.1", "localhost", 1)
		address := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/", status) })
		hook := redirectedTo(t, address+"/sync?key=s3cret", transport.AnyHost)
		if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil {
			t.Fatal(err)
		}
		for name, values := range <-headers {
			if strings.Contains(strings.Join(values, " "), "s3cret") {
				t.Errorf("the other host is sent %s: %s", name, values)
			}
		}
	}
}
