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
