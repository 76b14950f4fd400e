// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
