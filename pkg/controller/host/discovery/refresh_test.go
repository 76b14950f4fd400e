// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

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
