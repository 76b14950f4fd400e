// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func TestDryRunsOfAReviewNameItsAuthor(t *testing.T) {
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`))
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, UserAgent: "server"}
	NameAuthors(config)
	client, err := NewClient(config, "applier")
	if err != nil {
		t.Fatal(err)
	}
	of := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node"}
	for author, want := range map[string]string{
		"jane":         `server (review by "jane")`,
		"eve\r\nHost:": `server (review by "eve\r\nHost:")`,
	} {
		_, err := NewWriter(client, 1).DryRun().Create(WithAuthor(t.Context(), author), of, "", []byte(`{}`))
		if err != nil || agent != want {
			t.Errorf("it is sent by %s, want %s; error is %v", agent, want, err)
		}
	}
	if _, err := NewWriter(client, 1).Create(t.Context(), of, "", []byte(`{}`)); err != nil || agent != "server" {
		t.Errorf("what no review asks for is sent by %s, error is %v", agent, err)
	}
}

// warningHost answers each request with warnings that name its method.
func warningHost(t *testing.T) *Writer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, warning := range []string{`299 - "%s is old"`, `299 - "%s is old"`, `299 - "unknown field \"%s\""`, `199 - "%s in passing"`} {
			w.Header().Add("Warning", fmt.Sprintf(warning, r.Method))
		}
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return NewWriter(client, 1)
}

func TestTheWarningsOfWritesAreCollected(t *testing.T) {
	writer := warningHost(t)
	of := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	name, body := types.NamespacedName{Namespace: "default", Name: "a"}, []byte(`{}`)
	ctx, warnings := CollectWarnings(t.Context())
	for _, write := range []func() error{
		func() error { _, err := writer.TryCreate(ctx, of, "default", body); return err },
		func() error { _, err := writer.TryApply(ctx, of, name, body); return err },
		func() error { _, err := writer.Create(ctx, of, "default", body); return err },
		func() error { _, err := writer.Update(ctx, of, name, body); return err },
		func() error { _, err := writer.Update(ctx, of, name, body); return err },
		func() error { _, err := writer.Update(t.Context(), of, name, body); return err },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"POST is old", `unknown field "POST"`, "PUT is old", `unknown field "PUT"`}
	if diff := cmp.Diff(want, warnings.Texts()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
