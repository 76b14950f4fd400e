// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

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

// metadataHost is a host with the Secrets a, b and c on a page each, and one that mentions nothing.
// It answers with their metadata if it knows such lists, else with the objects, and only to requests
// that accept these.
func metadataHost(t *testing.T, knowsMetadata bool) *Client {
	t.Helper()
	item := func(name, finalizers string) string {
		metadata := fmt.Sprintf(`"metadata":{"name":%q,"namespace":"default","uid":"u-%s","resourceVersion":"1","finalizers":[%s]}`, name, name, finalizers)
		if knowsMetadata {
			return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` + metadata + `}`
		}
		return `{` + metadata + `,"data":{"metadata":"c2Vlbg=="},"type":"seen"}` // items of built-in types have no kind
	}
	kind := `"kind":"SecretList","apiVersion":"v1"`
	if knowsMetadata {
		kind = `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`
	}
	pages := map[string]string{
		"":  `{` + kind + `,"metadata":{"resourceVersion":"9","continue":"b"},"items":[` + item("a", `"x","seen"`) + `,` + item("passed-over", ``) + `]}`,
		"b": `{` + kind + `,"metadata":{"resourceVersion":"9","continue":"c"},"items":[` + item("b", `"seen"`) + `]}`,
		"c": `{` + kind + `,"metadata":{"resourceVersion":"9"},"items":[` + item("c", `"seen"`) + `]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, accept := r.URL.Query(), r.Header.Get("Accept")
		if r.URL.Path != "/api/v1/secrets" || query.Has("resourceVersion") || query.Get("limit") != fmt.Sprint(pageSize) {
			t.Errorf("asked for %s, want what there is now, in pages", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		metadata, whole, _ := strings.Cut(accept, ",")
		if metadata != "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" {
			t.Errorf("asked with Accept: %s", accept)
		}
		if !knowsMetadata && whole != "application/json" {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		_, _ = fmt.Fprint(w, pages[query.Get("continue")])
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func secretType() object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}
}

func TestMetadataPages(t *testing.T) {
	for name, knowsMetadata := range map[string]bool{
		"of a server that knows lists of metadata":  true,
		"of a server that answers with the objects": false,
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			err := metadataHost(t, knowsMetadata).MetadataPages(t.Context(), secretType(), "seen", func(page []metav1.PartialObjectMetadata) error {
				for _, one := range page {
					seen = append(seen, fmt.Sprint(one.Namespace, "/", one.Name, " ", one.UID, " ", one.Finalizers))
				}
				return nil
			})
			if want := []string{"default/a u-a [x seen]", "default/b u-b [seen]", "default/c u-c [seen]"}; err != nil || !slices.Equal(seen, want) {
				t.Errorf("seen %q, error %v", seen, err)
			}
		})
	}
}

func TestMetadataPagesEndWithTheFirstError(t *testing.T) {
	visits, enough := 0, errors.New("enough")
	err := metadataHost(t, true).MetadataPages(t.Context(), secretType(), "seen", func([]metav1.PartialObjectMetadata) error {
		visits++
		return enough
	})
	if visits != 1 || !errors.Is(err, enough) {
		t.Errorf("%d visits, error %v", visits, err)
	}
}

func TestMetadataPagesOfATypeThatIsNotServed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	err = client.MetadataPages(t.Context(), secretType(), "seen", func([]metav1.PartialObjectMetadata) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "list Secret.v1: ") {
		t.Errorf("error is %v", err)
	}
}
