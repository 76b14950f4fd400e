// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
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

var pods = pipeline.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}

// paging returns a client of a host with the Pods a, b and c on a page each, and one that does not
// contain the text.
func paging(t *testing.T) *Client {
	t.Helper()
	pages := map[string]string{
		"":  `{"metadata":{"resourceVersion":"9","continue":"b"},"items":[{"metadata":{"name":"a","resourceVersion":"1","finalizers":["seen"]}},{"metadata":{"name":"passed-over","resourceVersion":"1"}}]}`,
		"b": `{"metadata":{"resourceVersion":"9","continue":"c"},"items":[{"metadata":{"name":"b","resourceVersion":"2","finalizers":["seen"]}}]}`,
		"c": `{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"c","resourceVersion":"3","finalizers":["seen"]}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Has("resourceVersion") || query.Get("limit") != fmt.Sprint(pageSize) {
			t.Errorf("asked for %s, want what there is now, in pages", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, pages[query.Get("continue")])
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestPages(t *testing.T) {
	var seen []string
	err := paging(t).Pages(t.Context(), pods, "seen", func(page []*object.Object) error {
		for _, one := range page {
			seen = append(seen, one.String())
		}
		return nil
	})
	if err != nil || !slices.Equal(seen, []string{"Pod a", "Pod b", "Pod c"}) {
		t.Errorf("seen %q, error %v", seen, err)
	}
}

func TestPagesEndWithTheFirstError(t *testing.T) {
	visits, enough := 0, errors.New("enough")
	err := paging(t).Pages(t.Context(), pods, "seen", func([]*object.Object) error {
		visits++
		return enough
	})
	if visits != 1 || !errors.Is(err, enough) {
		t.Errorf("%d visits, error %v", visits, err)
	}
}
