// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// replica is what a replica of a test has.
type replica struct {
	name string
	// rows is how many Syncs it has. changes has the names of those that change.
	rows    int
	changes chan string
	err     error

	mu      sync.Mutex
	follows int
	asked   v1alpha1.ResyncRequestSpec
}

func (r *replica) Replica(context.Context) (string, error) { return r.name, r.err }

func row(name string) *v1alpha1.Sync {
	return &v1alpha1.Sync{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: v1alpha1.SyncStatus{State: v1alpha1.SyncStateSynced}}
}

func (r *replica) count(by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follows += by
}

func (r *replica) isFollowed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.follows > 0
}

func (r *replica) FollowSyncs(ctx context.Context, tell func([]*v1alpha1.Sync, []types.NamespacedName) error) error {
	r.count(1)
	defer r.count(-1)
	var all []*v1alpha1.Sync
	for i := range r.rows {
		all = append(all, row(fmt.Sprint(i)))
	}
	if err := tell(all, nil); err != nil {
		return err
	}
	for {
		select {
		case name := <-r.changes:
			if err := tell([]*v1alpha1.Sync{row(name)}, []types.NamespacedName{{Namespace: "ns", Name: "0"}}); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *replica) FollowHookCalls(context.Context, func([]*v1alpha1.HookCall, []types.NamespacedName) error) error {
	return errors.New("the loop has ended")
}

func (r *replica) HookCall(_ context.Context, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error) {
	if name.String() != "ns/kept" {
		return nil, nil, r.err
	}
	pods := rights.Object{GroupResource: schema.GroupResource{Resource: "pods"}, Namespace: "ns"}
	return &v1alpha1.HookCall{Spec: v1alpha1.HookCallSpec{Hook: "sync"}}, []rights.Required{{Right: rights.Right{Object: pods, Verb: "get"}, For: "its children"}}, nil
}

func (r *replica) RequestSyncs(_ context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (v1alpha1.ResyncRequestStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = *spec
	if of.Name != "webs" || !onlyCount {
		return v1alpha1.ResyncRequestStatus{}, errors.New("asked otherwise")
	}
	return v1alpha1.ResyncRequestStatus{Parents: 7, Paused: 2}, nil
}

// serve returns a peer that is a replica.
func serve(t *testing.T, local *replica) Peer {
	t.Helper()
	server := httptest.NewTLSServer(NewHandler(local))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return New("one", strings.TrimPrefix(server.URL, "https://"), func(context.Context) (*http.Client, error) { return server.Client(), nil })
}

func TestAPeerTellsAllThatItHasInOneCall(t *testing.T) {
	local := &replica{name: "one", rows: 2*maxObjects + 1, changes: make(chan string, 1)}
	peer, enough := serve(t, local), errors.New("enough")
	calls := 0
	err := peer.Syncs().Follow(t.Context(), func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error {
		if calls++; calls == 1 {
			if len(changed) != local.rows || len(gone) != 0 || changed[0].Status.State != v1alpha1.SyncStateSynced {
				t.Errorf("first told: %d and %d", len(changed), len(gone))
			}
			local.changes <- "new"
			return nil
		}
		if len(changed) != 1 || changed[0].Name != "new" || !slices.Equal(gone, []types.NamespacedName{{Namespace: "ns", Name: "0"}}) {
			t.Errorf("then told: %v and %v", changed, gone)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	err = poll.Within(t.Context(), 10*time.Second, func(context.Context) error { // the server has to notice
		if local.isFollowed() {
			return errors.New("it is still followed")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAPeerThatHasNothingTellsThat(t *testing.T) {
	told := errors.New("told")
	err := serve(t, &replica{name: "one"}).Syncs().Follow(t.Context(), func(changed []*v1alpha1.Sync, _ []types.NamespacedName) error {
		if len(changed) != 0 {
			t.Errorf("told %v", changed)
		}
		return told
	})
	if !errors.Is(err, told) {
		t.Error(err)
	}
}

func TestWhyAPeerIsNotFollowed(t *testing.T) {
	old := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(old.Close)
	client := func(context.Context) (*http.Client, error) { return old.Client(), nil }
	for name, test := range map[string]struct {
		peer Peer
		says string
	}{
		"its loop does not run":       {serve(t, &replica{name: "one", err: errors.New("no loop")}), "it answers 503: no loop"},
		"another one has its address": {serve(t, &replica{name: "two"}), "replica two answers in its place"},
		"it is of an earlier version": {New("one", strings.TrimPrefix(old.URL, "https://"), client), "a version that does not serve it"},
		"it says no address":          {New("one", "", client), "it does not say in its Lease where it is"},
		"nobody trusts it":            {New("one", "127.0.0.1:1", func(context.Context) (*http.Client, error) { return nil, errors.New("no authority") }), "no authority"},
		"its host does not listen":    {New("one", "127.0.0.1:1", client), "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.peer.Syncs().Follow(t.Context(), func([]*v1alpha1.Sync, []types.NamespacedName) error { return errors.New("it tells something") })
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "replica one") {
				t.Errorf("error is %v, want %s", err, test.says)
			}
		})
	}
}

func TestAStreamEndsWithTheLoop(t *testing.T) {
	err := serve(t, &replica{name: "one"}).HookCalls().Follow(t.Context(), func([]*v1alpha1.HookCall, []types.NamespacedName) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("error is %v", err)
	}
}

// A replica that is stopped keeps its connections. The loop of another one must be able to end.
func TestAStreamEndsIfNobodyTakesIt(t *testing.T) {
	t.Parallel()
	local := &replica{name: "one", rows: 100_000}
	server := httptest.NewServer(NewHandler(local))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: one\r\n\r\n", syncsPath); err != nil {
		t.Fatal(err)
	}
	waitFor := func(followed bool) {
		t.Helper()
		err := poll.Within(t.Context(), 3*silence, func(context.Context) error {
			if local.isFollowed() != followed {
				return fmt.Errorf("that it is followed is %t", !followed)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	waitFor(true)
	waitFor(false)
}

func TestACallOfAPeer(t *testing.T) {
	peer := serve(t, &replica{name: "one"})
	call, required, err := peer.HookCall(t.Context(), types.NamespacedName{Namespace: "ns", Name: "kept"})
	if err != nil || call.Spec.Hook != "sync" || len(required) != 1 || required[0].Resource != "pods" || required[0].Verb != "get" || required[0].Namespace != "ns" {
		t.Errorf("found %v and %+v, %v", call, required, err)
	}
	if call, _, err := peer.HookCall(t.Context(), types.NamespacedName{Namespace: "ns", Name: "dropped"}); call != nil || err != nil {
		t.Errorf("found %v, %v", call, err)
	}
}

func TestAPeerIsAskedForSyncs(t *testing.T) {
	local := &replica{name: "one"}
	spec := &v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{Namespace: "shop"}}
	found, err := serve(t, local).RequestSyncs(t.Context(), v1alpha1.ControllerReference{Name: "webs"}, spec, true)
	if err != nil || found.Parents != 7 || found.Paused != 2 || local.asked.Parents.Namespace != "shop" {
		t.Errorf("%+v of %+v, %v", found, local.asked, err)
	}
}

// silentHost is the network to a replica whose host takes requests and does not answer.
type silentHost struct{}

func (silentHost) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestAPeerThatDoesNotAnswerHoldsNobodyUpForLongerThanTwoSeconds(t *testing.T) {
	for name, connect := range map[string]Connect{
		"its host is silent": func(context.Context) (*http.Client, error) { return &http.Client{Transport: silentHost{}}, nil },
		"the cluster does not say whom it trusts": func(ctx context.Context) (*http.Client, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peer := New("one", "10.0.0.1:443", connect)
				for what, ask := range map[string]func() error{
					"a call": func() error { _, _, err := peer.HookCall(t.Context(), types.NamespacedName{}); return err },
					"syncs": func() error {
						_, err := peer.RequestSyncs(t.Context(), v1alpha1.ControllerReference{}, &v1alpha1.ResyncRequestSpec{}, false)
						return err
					},
				} {
					began := time.Now()
					if err := ask(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "replica one") {
						t.Errorf("asked for %s, the error is %v", what, err)
					}
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("who asked for %s was held up for %s", what, took)
					}
				}
			})
		})
	}
}

func TestWhomReplicasTrust(t *testing.T) {
	trust := NewTrust(&rest.Config{BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{CAFile: "/host", CAData: []byte("host"), CertData: []byte("cert")}}, nil, "v1")
	config, err := trust.config([]byte(`{"spec":{"caBundle":"Y2E=","service":{"namespace":"ns","name":"svc"}}}`))
	if err != nil || string(config.CAData) != "ca" || config.CAFile != "" || config.ServerName != "svc.ns.svc" || config.BearerToken != "token" || string(config.CertData) != "cert" {
		t.Errorf("the configuration is %+v, %v", config, err)
	}
	for name, service := range map[string]string{
		"nobody if the cluster does not check":     `{"spec":{"insecureSkipTLSVerify":true,"service":{"namespace":"ns","name":"svc"}}}`,
		"nobody if the API is that of the cluster": `{"spec":{}}`,
		"nobody if there is no answer":             ``,
	} {
		t.Run(name, func(t *testing.T) {
			if config, err := trust.config([]byte(service)); err == nil {
				t.Errorf("the configuration is %+v", config)
			}
		})
	}
}
