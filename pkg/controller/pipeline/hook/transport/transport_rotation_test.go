// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// A bundle holds both authorities while servers move from one to the other.
func TestQ24AnAuthorityIsRotatedWithoutAFailedCall(t *testing.T) {
	before, after := authority(t, "before"), authority(t, "after")
	serverBefore := &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, before)}}
	serverAfter := &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, after)}}
	for _, in := range []struct {
		name   string
		source Source
		bundle *v1alpha1.CABundle
	}{
		{"Secret", secret("tools", "a"), caInSecret("")},
		{"ConfigMap", configMap("tools", "a"), caInConfigMap("")},
	} {
		t.Run(in.name, func(t *testing.T) {
			server := serveTLS(t, serverBefore, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close") // every call has to be trusted anew
				_, _ = io.WriteString(w, "{}")
			})
			hosts := newCluster(t)
			hosts.put(in.source, map[string]string{"ca.crt": string(before.Cert)})
			hook := connected(t, hosts, v1alpha1.Webhook{URL: &server.URL, CABundle: in.bundle}, nil)
			calling := callAllTheTime(t, hook)
			calling.more()
			hosts.put(in.source, map[string]string{"ca.crt": string(before.Cert) + string(after.Cert)})
			calling.more()
			server.config.Store(serverAfter)
			calling.more()
			hosts.put(in.source, map[string]string{"ca.crt": string(after.Cert)})
			calling.more()
			if failed := calling.stop(); failed != nil {
				t.Errorf("a call failed: %v", failed)
			}
			server.config.Store(serverBefore)
			if err := ask(t, hook); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
				t.Errorf("with the authority of before, which is gone, the error is %v", err)
			}
		})
	}
}

func TestQ24ATokenIsRotatedWithoutAFailedCall(t *testing.T) {
	var accepted atomic.Pointer[[]string]
	accepted.Store(&[]string{"Bearer one", "Bearer two"})
	var last atomic.Pointer[string]
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		last.Store(&header)
		if !slices.Contains(*accepted.Load(), header) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	hosts := newCluster(t)
	hosts.put(secret("tools", "a"), map[string]string{"token": "one"})
	hook := connected(t, hosts, v1alpha1.Webhook{URL: &address, Authorization: tokenInSecret("", "token")}, nil)
	calling := callAllTheTime(t, hook)
	calling.more()
	hosts.put(secret("tools", "a"), map[string]string{"token": "two"})
	if err := ask(t, hook); err != nil {
		t.Fatal(err)
	}
	calling.more()
	accepted.Store(&[]string{"Bearer two"})
	calling.more()
	if failed := calling.stop(); failed != nil {
		t.Errorf("a call failed: %v", failed)
	}
	if got := *last.Load(); got != "Bearer two" {
		t.Errorf("the token sent last is %q", got)
	}
}

// callers call a hook all the time from several goroutines.
type callers struct {
	*testing.T
	cancel  context.CancelFunc
	running sync.WaitGroup
	made    [4]chan struct{} // a caller each
	failed  atomic.Pointer[error]
}

func callAllTheTime(t *testing.T, hook *caller) *callers {
	ctx, cancel := context.WithCancel(t.Context())
	c := &callers{T: t, cancel: cancel}
	for i := range c.made {
		c.made[i] = make(chan struct{})
		c.running.Go(func() {
			for ctx.Err() == nil {
				if err := hook.call(context.WithoutCancel(ctx)); err != nil {
					c.failed.CompareAndSwap(nil, &err)
				}
				select {
				case c.made[i] <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	return c
}

// more waits until every caller has made a call that began after this one did.
func (c *callers) more() {
	for range 3 { // what comes first may have been made before, and the next have begun
		for _, made := range c.made {
			<-made
		}
	}
}

// stop ends the calls and returns why one has failed, if any has.
func (c *callers) stop() error {
	c.cancel()
	c.running.Wait()
	if failed := c.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

func TestWhatIsNoUseLeavesTheLastInUse(t *testing.T) {
	ca := authority(t, "ca")
	server := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ca)}}, func(w http.ResponseWriter, r *http.Request) {
		if header := r.Header.Get("Authorization"); header != "Bearer s3cret" {
			t.Errorf("called with %q", header)
		}
		_, _ = io.WriteString(w, "{}")
	})
	hosts := newCluster(t)
	bundle, token := configMap("tools", "a"), secret("tools", "a")
	good := func() {
		hosts.put(bundle, map[string]string{"ca.crt": string(ca.Cert)})
		hosts.put(token, map[string]string{"token": "s3cret"})
	}
	good()
	var told []string
	hook := connected(t, hosts, v1alpha1.Webhook{URL: &server.URL, CABundle: caInConfigMap(""), Authorization: tokenInSecret("", "token")}, func(err error) {
		told = append(told, fmt.Sprint(err))
	})
	const begins = "spec.hooks.sync.webhook."
	const isGood = "<nil>"
	steps := []struct {
		what string
		do   func()
		want []string
	}{
		{"the same again", good, nil},
		{"the bundle is gone", func() { hosts.remove(bundle) }, []string{begins + "caBundle.configMapRef: ConfigMap tools/a: it does not exist"}},
		{"another change that mends nothing", func() { hosts.put(token, map[string]string{"token": "another"}) }, nil},
		{"all is good", good, []string{isGood}},
		{"the token is empty", func() { hosts.put(token, map[string]string{"token": ""}) }, []string{begins + `authorization.secretRef: Secret tools/a: key "token" is empty`}},
		{"the token is still empty", func() { hosts.put(token, map[string]string{"token": ""}) }, nil},
		{"the token has gone", func() { hosts.put(token, nil) }, []string{begins + `authorization.secretRef: Secret tools/a: it has no key "token"`}},
		{"all is good again", good, []string{isGood}},
	}
	for _, step := range steps {
		told = nil
		step.do()
		if !slices.Equal(told, step.want) {
			t.Errorf("%s: told %q, want %q", step.what, told, step.want)
		}
		if err := ask(t, hook); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
	}
}

// New settings take effect at the next call and do not disturb calls in flight.
func TestConnectionsOfBeforeEndWithTheirCalls(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("by HTTP/2 %v", http2), func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Run("calls", func(t *testing.T) { exchangeDuringACall(t, http2) })
			goleak.VerifyNone(t, before)
		})
	}
}

func exchangeDuringACall(t *testing.T, http2 bool) {
	ca, unused := authority(t, "ca"), authority(t, "unused")
	var open sync.Map
	arrived, release := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { arrived <- struct{}{}; <-release })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoAtLeast(2, 0) != http2 {
			t.Errorf("called by %s", r.Proto)
		}
		if r.URL.Query().Has("wait") {
			first()
		}
		_, _ = io.WriteString(w, "{}")
	}))
	server.EnableHTTP2 = http2
	server.TLS = &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ca)}}
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			open.Delete(conn)
		} else {
			open.Store(conn, state)
		}
	}
	server.StartTLS()
	defer server.Close()
	count := func() (n int) {
		open.Range(func(any, any) bool { n++; return true })
		return n
	}
	hosts := newCluster(t)
	hosts.put(configMap("tools", "a"), map[string]string{"ca.crt": string(ca.Cert)})
	hook := connected(t, hosts, v1alpha1.Webhook{URL: ptr.To(server.URL + "?wait"), CABundle: caInConfigMap("")}, nil)
	var calls sync.WaitGroup
	calls.Go(func() {
		if err := ask(t, hook); err != nil {
			t.Errorf("a call under way was disturbed: %v", err)
		}
	})
	<-arrived
	hosts.put(configMap("tools", "a"), map[string]string{"ca.crt": string(ca.Cert) + string(unused.Cert)})
	go close(release)
	calls.Wait()
	eventually(t, "the connection of before ends", func() bool { return count() == 0 })
	for range 2 {
		if err := ask(t, hook); err != nil {
			t.Error(err)
		}
	}
	if n := count(); n != 1 {
		t.Errorf("%d connections are open, want the one in use", n)
	}
	hosts.put(configMap("tools", "a"), map[string]string{"ca.crt": string(ca.Cert)})
	eventually(t, "the connection that is not in use ends", func() bool { return count() == 0 })
	if err := ask(t, hook); err != nil {
		t.Error(err)
	}
	hook.Close()
	eventually(t, "no connection stays", func() bool { return count() == 0 })
	if followed := hosts.followed(); followed > 0 {
		t.Errorf("%d objects are still followed", followed)
	}
}

func TestConnectionsAreKeptWhenOnlyTheTokenChanges(t *testing.T) {
	ca := authority(t, "ca")
	server := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ca)}}, nil)
	hosts := newCluster(t)
	hook := v1alpha1.Webhook{URL: &server.URL, CABundle: caInSecret(""), Authorization: tokenInSecret("", "token")}
	var made *caller
	for _, token := range []string{"one", "two", "three"} {
		hosts.put(secret("tools", "a"), map[string]string{"token": token, "ca.crt": string(ca.Cert)})
		if made == nil {
			made = connected(t, hosts, hook, nil)
		}
		if err := ask(t, made); err != nil {
			t.Fatal(err)
		}
	}
	if callers := server.callers(); len(callers) != 1 {
		t.Errorf("three calls came over %d connections", len(callers))
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := poll.Within(t.Context(), 30*time.Second, func(context.Context) error {
		if !condition() {
			return errors.New("never happened: " + what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
