// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
	for pages := paging(t).Pages(pods, "seen"); !pages.Done(); {
		page, err := pages.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			seen = append(seen, one.String())
		}
	}
	if !slices.Equal(seen, []string{"Pod a", "Pod b", "Pod c"}) {
		t.Errorf("seen %q", seen)
	}
}

// The host forgets its tokens after some minutes. A page that fails is requested again, and those
// before it are not.
func TestThePlaceInPagesIsKept(t *testing.T) {
	const end = `{"metadata":{"resourceVersion":"9"},"items":[]}`
	for name, test := range map[string]struct {
		// refused is the answer to the first request for the second page.
		refused string
		code    int
		want    []string
		err     bool
	}{
		"after a failure":                      {`{"kind":"Status","apiVersion":"v1","code":500}`, 500, []string{"", "b", "b"}, true},
		"of a token that has expired":          {`{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","metadata":{"continue":"fresh"}}`, 410, []string{"", "b", "fresh"}, false},
		"of a token without one to go on with": {`{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired"}`, 410, []string{"", "b", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Query().Get("continue"))
				w.Header().Set("Content-Type", "application/json")
				switch len(asked) {
				case 1:
					_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"9","continue":"b"},"items":[]}`)
				case 2:
					w.WriteHeader(test.code)
					_, _ = fmt.Fprint(w, test.refused)
				default:
					_, _ = fmt.Fprint(w, end)
				}
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
			if err != nil {
				t.Fatal(err)
			}
			failed := false
			for pages := client.Pages(pods, "seen"); !pages.Done(); {
				if _, err := pages.Next(t.Context()); err != nil {
					failed = true
				}
			}
			if !slices.Equal(asked, test.want) || failed != test.err {
				t.Errorf("asked for pages %q, an error %v, want %q, %v", asked, failed, test.want, test.err)
			}
		})
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
			for pages := metadataHost(t, knowsMetadata).Pages(secretType(), "seen"); !pages.Done(); {
				page, err := pages.NextMetadata(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range page {
					seen = append(seen, fmt.Sprint(one.Namespace, "/", one.Name, " ", one.UID, " ", one.Finalizers))
				}
			}
			if want := []string{"default/a u-a [x seen]", "default/b u-b [seen]", "default/c u-c [seen]"}; !slices.Equal(seen, want) {
				t.Errorf("seen %q", seen)
			}
		})
	}
}

func TestMetadataPagesOfATypeThatIsNotServed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Pages(secretType(), "seen").NextMetadata(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "list Secret.v1: ") {
		t.Errorf("error is %v", err)
	}
}
