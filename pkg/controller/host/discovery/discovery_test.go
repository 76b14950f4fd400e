// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

func TestTypesThatAreServedFromMemoryAreRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s is requested", r.URL)
	}))
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, "applier")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"syncs", "hookcalls", "syncreviews"} {
		_, err := New(client, func(string) {}).Resolve(t.Context(), "metacontroller.k8s.io/v1alpha1", resource)
		if err == nil || !strings.Contains(err.Error(), resource) || !strings.Contains(err.Error(), v1alpha1.NotForSyncs) {
			t.Errorf("the error of %s is %v", resource, err)
		}
	}
}

// Customize hooks choose the versions of related types.
func TestAVersionDoesNotLeadToAnotherPath(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is requested", r.URL) }))
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, "applier")
	if err != nil {
		t.Fatal(err)
	}
	for _, elsewhere := range []string{"../metrics", "..", "apps/..", "a%2fb/v1"} {
		_, err := New(client, func(string) {}).Resolve(t.Context(), elsewhere, "pods")
		if _, unknown := errors.AsType[*UnknownTypeError](err); !unknown {
			t.Errorf("the error of %s is %v", elsewhere, err)
		}
	}
}

// changingHost serves the discovery of one API group.
type changingHost struct {
	resources atomic.Pointer[string] // JSON; nil is a host that fails
	asked     atomic.Int64
}

func (h *changingHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	resources := h.resources.Load()
	if r.URL.Path != "/apis/example.com/v1" || resources == nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[%s]}`, *resources)
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatal("never happened: ", what)
	}
}

func TestTypesThatChangeUnseenAreReadAgain(t *testing.T) {
	things, withStatus := `{"name":"things","kind":"Thing","namespaced":true}`, `{"name":"things","kind":"Thing","namespaced":true},{"name":"things/status","kind":"Thing"}`
	fake := &changingHost{}
	fake.resources.Store(&things)
	server := httptest.NewServer(fake)
	defer server.Close()
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan string, 10)
	discovery := New(client, func(group string) { changes <- group })
	if _, err := discovery.Resolve(t.Context(), "example.com/v1", "things"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		discovery.Refresh(ctx, 5*time.Millisecond)
	}()
	defer func() { stop(); <-stopped }()

	askedTwice := func() {
		t.Helper()
		asked := fake.asked.Load()
		waitUntil(t, "the cluster is asked again", func() bool { return fake.asked.Load() >= asked+2 })
	}
	askedTwice()
	fake.resources.Store(nil)
	askedTwice()
	select {
	case group := <-changes:
		t.Fatalf("%s is said to have changed, and has not", group)
	default:
	}

	fake.resources.Store(&withStatus)
	if group := <-changes; group != "example.com" {
		t.Errorf("%q has changed, want example.com", group)
	}
	found, err := discovery.Resolve(t.Context(), "example.com/v1", "things")
	if err != nil || !found.StatusSubresource {
		t.Errorf("the type is still %+v: %v", found, err)
	}
}
