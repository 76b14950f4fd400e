// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// A reflector uses the watch that it gets if there is no error.
func TestAWatchThatIsStoppedBeforeItBeginsIsAnError(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if stream, err := client.Watch(ctx, pods, "", metav1.ListOptions{}); err == nil {
		t.Errorf("Watch returned %v and no error", stream)
	}
	if list, err := client.List(ctx, pods, "", metav1.ListOptions{}); err == nil {
		t.Errorf("List returned %v and no error", list)
	}
}

var pods = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}

// An object that a list shows again after a watch is unchanged.
func TestAnObjectOfAListHasTheHashOfThatOfAWatch(t *testing.T) {
	client, err := NewClient(&rest.Config{Host: "http://127.0.0.1:1"}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	const rest = `"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"},"spec":{}}`
	list, err := client.parseList(pods, []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{`+rest+`]}`), func(item []byte) []byte { return item })
	if err != nil {
		t.Fatal(err)
	}
	watched, err := client.objects.Parse([]byte(`{"kind":"Pod","apiVersion":"v1",` + rest))
	if err != nil {
		t.Fatal(err)
	}
	if listed := list.Items[0]; listed.Hash != watched.Hash {
		t.Errorf("the hashes are %x of the list and %x of the watch", listed.Hash, watched.Hash)
	}
}

// Hooks choose the namespaces and names of children.
func TestARequestIsNotLedToAnotherPath(t *testing.T) {
	for _, elsewhere := range []string{"..", "../../../api/v1/namespaces/other/services/x/proxy", "a/b", "a%2fb"} {
		for what, send := range map[string]func(*Writer) error{
			"a creation in a namespace": func(w *Writer) error { _, err := w.Create(t.Context(), pods, elsewhere, []byte(`{}`)); return err },
			"an apply in a namespace": func(w *Writer) error {
				_, err := w.Apply(t.Context(), pods, types.NamespacedName{Namespace: elsewhere, Name: "a"}, []byte(`{}`))
				return err
			},
			"a deletion of a name": func(w *Writer) error {
				return w.Delete(t.Context(), pods, types.NamespacedName{Namespace: "default", Name: elsewhere}, "u")
			},
			"a list of a namespace": func(w *Writer) error {
				return w.client.listRequest(pods, elsewhere, metav1.ListOptions{}).Do(t.Context()).Error()
			},
		} {
			t.Run(what+" "+elsewhere, func(t *testing.T) {
				host := newImpersonationHost(t)
				err := send(NewWriter(host.client, 1))
				if _, requests := host.seen(); err == nil || len(requests) > 0 {
					t.Errorf("the error is %v, and the requests are %q", err, requests)
				}
			})
		}
	}
}

// impersonationHost is a host that speaks HTTP/2 over TLS, counts connections, and records as whom
// each request is made.
type impersonationHost struct {
	client *Client

	mu          sync.Mutex
	connections int
	requests    []string
}

func newImpersonationHost(t *testing.T) *impersonationHost {
	t.Helper()
	h := &impersonationHost{}
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.connections++
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	h.client = client
	return h
}

func (h *impersonationHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests = append(h.requests, fmt.Sprintf("%s %s as %s", r.Method, r.Proto, r.Header.Get("Impersonate-User")))
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"}}`)
}

func (h *impersonationHost) seen() (connections int, requests []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.connections, slices.Sorted(slices.Values(h.requests))
}

func TestEveryRequestOfAWriterIsMadeAsItsAccount(t *testing.T) {
	name, body := types.NamespacedName{Namespace: "default", Name: "a"}, []byte(`{}`)
	requests := map[string]func(w *Writer) error{
		"a read":                  func(w *Writer) error { _, err := w.Get(t.Context(), pods, name); return err },
		"a read of metadata":      func(w *Writer) error { _, err := w.Metadata(t.Context(), pods, name); return err },
		"a creation":              func(w *Writer) error { _, err := w.Create(t.Context(), pods, "default", body); return err },
		"a dry run of a creation": func(w *Writer) error { _, err := w.TryCreate(t.Context(), pods, "default", body); return err },
		"an update":               func(w *Writer) error { _, err := w.Update(t.Context(), pods, name, body); return err },
		"an update of a status":   func(w *Writer) error { _, err := w.UpdateStatus(t.Context(), pods, name, body); return err },
		"a merge patch":           func(w *Writer) error { _, err := w.Patch(t.Context(), pods, name, body); return err },
		"a JSON patch":            func(w *Writer) error { _, err := w.PatchJSON(t.Context(), pods, name, body); return err },
		"a server-side apply":     func(w *Writer) error { _, err := w.Apply(t.Context(), pods, name, body); return err },
		"a dry run of an apply":   func(w *Writer) error { _, err := w.TryApply(t.Context(), pods, name, body); return err },
		"a deletion":              func(w *Writer) error { return w.Delete(t.Context(), pods, name, "u") },
	}
	for what, send := range requests {
		for _, test := range []struct {
			whose   string
			account Account
			want    string
		}{
			{"of an account", Account{Namespace: "shop", Name: "websites"}, "system:serviceaccount:shop:websites"},
			{"of the server itself", Account{}, ""},
		} {
			t.Run(what+" "+test.whose, func(t *testing.T) {
				host := newImpersonationHost(t)
				if err := send(NewWriter(host.client, 1).As(test.account).For("a controller")); err != nil {
					t.Fatal(err)
				}
				_, requests := host.seen()
				if len(requests) != 1 || !slices.ContainsFunc([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, func(method string) bool {
					return requests[0] == method+" HTTP/2.0 as "+test.want
				}) {
					t.Errorf("the requests are %q, want one as %q", requests, test.want)
				}
			})
		}
	}
}

func TestAccountsShareConnectionsAndTheBound(t *testing.T) {
	const accounts = 1000
	host := newImpersonationHost(t)
	shared := NewWriter(host.client, 20)
	// Before there is a connection, requests at the same time may each open one.
	if _, err := shared.Get(t.Context(), pods, types.NamespacedName{Namespace: "default", Name: "a"}); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	for i := range accounts {
		writing.Go(func() {
			account := Account{Namespace: "tenants", Name: fmt.Sprintf("tenant-%03d", i)}
			if _, err := shared.As(account).For(account.Name).Create(t.Context(), pods, "default", []byte(`{}`)); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	connections, requests := host.seen()
	if connections != 1 {
		t.Errorf("%d accounts opened %d connections, want 1", accounts, connections)
	}
	if different := slices.Compact(requests); len(different) != accounts+1 {
		t.Errorf("there are requests as %d users, want %d and the server", len(different)-1, accounts)
	}
}
