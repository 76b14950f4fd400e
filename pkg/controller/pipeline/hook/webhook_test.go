// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
)

const limit = 1000

// serve starts a hook; handlers that block are let go when the test ends.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// webhook is the hook at a URL; timeout may be empty.
func webhook(t *testing.T, url, timeout string) *Webhook {
	t.Helper()
	spec := &v1alpha1.Webhook{URL: &url}
	if timeout != "" {
		spec.Timeout = ptr.To(v1alpha1.Duration(timeout))
	}
	made, err := New(Sync, &v1alpha1.Hook{Webhook: spec}, nil, Options{MaxResponseBytes: limit, MaxIdleConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func snapshot(t *testing.T) *pipeline.Snapshot {
	return &pipeline.Snapshot{
		Controller: []byte(controller),
		Parent:     parsed(t, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
	}
}

// answer answers with a status and a body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func parsed(t testing.TB, raw string) *object.Object {
	t.Helper()
	o, err := object.Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return o
}

func typeOf(group, version, kind string) pipeline.Type {
	return pipeline.Type{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version}, Kind: kind}
}

const controller = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1","metadata":{"name":"webs"},"spec":{},"status":{}}`

func TestQ11FinalizedCountsInFinalizeCallsAlone(t *testing.T) {
	address := serve(t, answer(200, `{"finalized":true}`))
	for name, format := range map[string]protocol.Format{"composite": protocol.Composite(), "decorator": protocol.Decorator()} {
		for _, finalizing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, finalizing %t", name, finalizing), func(t *testing.T) {
				about := snapshot(t)
				about.Finalizing = finalizing
				response, err := webhook(t, address, "").sync(t.Context(), format, about)
				if err != nil || response.Finalized != finalizing {
					t.Errorf("response %+v with error %v", response, err)
				}
			})
		}
	}
}
