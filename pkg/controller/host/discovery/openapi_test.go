// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

var (
	configMaps = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	services   = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Kind: "Service", Namespaced: true}
	things     = object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}, Kind: "Thing", Namespaced: true}
	others     = object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "others"}, Kind: "Other"}
)

// publisher is a host that publishes OpenAPI documents. Each document is given by its path and, for
// each kind, the list type of the field "list".
type publisher struct {
	mu        sync.Mutex
	documents map[string]map[schema.GroupVersionKind]openapi.List
	failing   map[string]int // status by path
	asked     []string
}

func newPublisher(t *testing.T) (*publisher, *Discovery) {
	t.Helper()
	p := &publisher{failing: map[string]int{}, documents: map[string]map[schema.GroupVersionKind]openapi.List{
		"api/v1":              {configMaps.GroupVersionKind(): openapi.Set, services.GroupVersionKind(): openapi.Map},
		"apis/example.com/v1": {things.GroupVersionKind(): openapi.Atomic},
	}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	return p, New(client, func(string) {})
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if status := p.failing[r.URL.Path]; status != 0 {
		w.WriteHeader(status)
		return
	}
	if r.URL.Path == "/openapi/v3" {
		_, _ = io.WriteString(w, `{"paths":{"version":{"serverRelativeURL":"/openapi/v3/version"}`)
		for path, kinds := range p.documents {
			_, _ = fmt.Fprintf(w, `,%q:{"serverRelativeURL":"/openapi/v3/%s?hash=%x"}`, path, path, fmt.Sprint(kinds))
		}
		_, _ = io.WriteString(w, `}}`)
		return
	}
	for path, kinds := range p.documents {
		if r.URL.Path == "/openapi/v3/"+path && r.URL.Query().Get("hash") == fmt.Sprintf("%x", fmt.Sprint(kinds)) {
			_, _ = io.WriteString(w, `{"components":{"schemas":{"x":{}`)
			for kind, list := range kinds {
				_, _ = fmt.Fprintf(w, `,%q:{"properties":{"list":{"items":{},"x-kubernetes-list-type":%q}},"x-kubernetes-group-version-kind":[{"group":%q,"version":%q,"kind":%q}]}`,
					kind.Kind, list, kind.Group, kind.Version, kind.Kind)
			}
			_, _ = io.WriteString(w, `}}}`)
			return
		}
	}
	http.NotFound(w, r)
}

// requests returns the paths that were requested since the last call.
func (p *publisher) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	slices.Sort(asked)
	return asked
}

func (p *publisher) change(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// later makes the index too old to be used again.
func later(d *Discovery) {
	d.index.mu.Lock()
	defer d.index.mu.Unlock()
	d.index.requestedAt = d.index.requestedAt.Add(-indexMaxAge)
}

// atOnce makes the index new enough to be used again, however slow the machine is.
func atOnce(d *Discovery) {
	d.index.mu.Lock()
	defer d.index.mu.Unlock()
	d.index.requestedAt = time.Now().Add(time.Hour)
}

// expectSchemas reads the schemas of types with a new index and compares their lists.
func expectSchemas(t *testing.T, d *Discovery, want map[object.Type]openapi.List, types ...object.Type) {
	t.Helper()
	later(d)
	found, _, err := d.Schemas(t.Context(), types)
	if err != nil {
		t.Fatal(err)
	}
	compareSchemas(t, want, found)
}

func compareSchemas(t *testing.T, want map[object.Type]openapi.List, found map[object.Type]*openapi.Type) {
	t.Helper()
	got := map[object.Type]openapi.List{}
	for of, known := range found {
		got[of] = known.Field("list").List()
	}
	if !maps.Equal(want, got) {
		t.Errorf("the lists are %v, want %v", got, want)
	}
}

func expectRequests(t *testing.T, p *publisher, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, p.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestSchemasAreReadOfTheWantedVersionsAlone(t *testing.T) {
	p, d := newPublisher(t)
	expectSchemas(t, d, map[object.Type]openapi.List{configMaps: openapi.Set, services: openapi.Map}, configMaps, services)
	expectRequests(t, p, "/openapi/v3", "/openapi/v3/api/v1")
	expectSchemas(t, d, map[object.Type]openapi.List{configMaps: openapi.Set, things: openapi.Atomic}, configMaps, things)
	expectRequests(t, p, "/openapi/v3", "/openapi/v3/apis/example.com/v1")
	expectSchemas(t, d, map[object.Type]openapi.List{services: openapi.Map, things: openapi.Atomic}, services, things)
	expectRequests(t, p)
}

func TestAnotherKindOfADocumentHasItReadOnceMore(t *testing.T) {
	p, d := newPublisher(t)
	expectSchemas(t, d, map[object.Type]openapi.List{configMaps: openapi.Set}, configMaps)
	p.requests()
	expectSchemas(t, d, map[object.Type]openapi.List{configMaps: openapi.Set, services: openapi.Map}, configMaps, services)
	expectRequests(t, p, "/openapi/v3", "/openapi/v3/api/v1")
}

func TestAfterAChangeOfItsGroupADocumentIsReadIfItIsAnother(t *testing.T) {
	p, d := newPublisher(t)
	want := map[object.Type]openapi.List{things: openapi.Atomic}
	expectSchemas(t, d, want, things)
	p.requests()

	d.groupChanged("other.example.com")
	expectSchemas(t, d, want, things)
	expectRequests(t, p)

	d.groupChanged("example.com")
	expectSchemas(t, d, want, things)
	expectRequests(t, p, "/openapi/v3")

	p.change(func() { p.documents["apis/example.com/v1"][things.GroupVersionKind()] = openapi.Set })
	expectSchemas(t, d, map[object.Type]openapi.List{things: openapi.Set}, things)
	expectRequests(t, p, "/openapi/v3", "/openapi/v3/apis/example.com/v1")

	// The host may go on publishing the old document for a while, so it is asked again after that.
	d.mu.Lock()
	d.lastChange["example.com"] = time.Now().Add(-2 * schemasSettleTime)
	d.mu.Unlock()
	expectSchemas(t, d, map[object.Type]openapi.List{things: openapi.Set}, things)
	expectRequests(t, p, "/openapi/v3")
	expectSchemas(t, d, map[object.Type]openapi.List{things: openapi.Set}, things)
	expectRequests(t, p)
}

func TestWhatIsNotPublishedIsAskedForAgain(t *testing.T) {
	p, d := newPublisher(t)
	none := map[object.Type]openapi.List{}
	expectSchemas(t, d, none, others)
	expectRequests(t, p, "/openapi/v3", "/openapi/v3/apis/example.com/v1")
	expectSchemas(t, d, none, others)
	expectRequests(t, p, "/openapi/v3")
	p.change(func() { p.documents["apis/example.com/v1"][others.GroupVersionKind()] = openapi.Map })
	expectSchemas(t, d, map[object.Type]openapi.List{others: openapi.Map}, others)
}

func TestAHostWithoutDocuments(t *testing.T) {
	for name, status := range map[string]int{"that has none": http.StatusNotFound, "that does not show them": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			p, d := newPublisher(t)
			p.failing["/openapi/v3"] = status
			expectSchemas(t, d, map[object.Type]openapi.List{}, configMaps, things)
			expectRequests(t, p, "/openapi/v3")
		})
	}
}

func TestWhatCanBeReadIsReturnedWithTheError(t *testing.T) {
	p, d := newPublisher(t)
	p.failing["/openapi/v3/api/v1"] = http.StatusBadRequest
	found, stable, err := d.Schemas(t.Context(), []object.Type{configMaps, things})
	if err == nil || stable {
		t.Errorf("the error is %v, stable %v", err, stable)
	}
	compareSchemas(t, map[object.Type]openapi.List{things: openapi.Atomic}, found)

	p.change(func() { p.failing["/openapi/v3"] = http.StatusBadRequest })
	later(d)
	found, stable, err = d.Schemas(t.Context(), []object.Type{configMaps, things})
	if err == nil || stable {
		t.Errorf("the error is %v, stable %v", err, stable)
	}
	compareSchemas(t, map[object.Type]openapi.List{things: openapi.Atomic}, found)

	p.change(func() { clear(p.failing) })
	expectSchemas(t, d, map[object.Type]openapi.List{configMaps: openapi.Set, things: openapi.Atomic}, configMaps, things)
}

func TestWhatIsNoLongerPublishedIsForgotten(t *testing.T) {
	p, d := newPublisher(t)
	expectSchemas(t, d, map[object.Type]openapi.List{things: openapi.Atomic}, things)
	p.change(func() { delete(p.documents, "apis/example.com/v1") })
	expectSchemas(t, d, map[object.Type]openapi.List{configMaps: openapi.Set}, configMaps)
	if len(d.documents.byVersion) != 1 {
		t.Errorf("known are %v", d.documents.byVersion)
	}
}

func TestOneAnswerServesAllWhoAskWhereTheDocumentsAre(t *testing.T) {
	p, d := newPublisher(t)
	for _, of := range []object.Type{configMaps, things} {
		if _, _, err := d.Schemas(t.Context(), []object.Type{of}); err != nil {
			t.Fatal(err)
		}
		atOnce(d)
	}
	expectRequests(t, p, "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/apis/example.com/v1")
}

func TestSchemasAreStableAWhileAfterADefinitionChanged(t *testing.T) {
	_, d := newPublisher(t)
	for name, test := range map[string]struct {
		changed time.Duration // ago
		want    bool
	}{"just now": {0, false}, "a while ago": {schemasSettleTime - time.Minute/6, false}, "long ago": {schemasSettleTime + time.Second, true}} {
		t.Run(name, func(t *testing.T) {
			d.groupChanged("example.com")
			d.mu.Lock()
			d.lastChange["example.com"] = time.Now().Add(-test.changed)
			d.mu.Unlock()
			later(d)
			if _, stable, err := d.Schemas(t.Context(), []object.Type{configMaps, things}); err != nil || stable != test.want {
				t.Errorf("stable is %v, %v, want %v", stable, err, test.want)
			}
		})
	}
}
