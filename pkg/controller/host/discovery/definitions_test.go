// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

func TestWhichDefinitionsAreNews(t *testing.T) {
	for name, test := range map[string]struct {
		age     time.Duration
		written []time.Duration // ago, by one each
		initial bool
		want    bool
	}{
		"one that has long been there at the start":     {time.Hour, nil, true, false},
		"one that has long been as it is at the start":  {time.Hour, []time.Duration{time.Hour, 2 * time.Minute}, true, false},
		"one that has just been changed at the start":   {time.Hour, []time.Duration{time.Hour, time.Second, 2 * time.Minute}, true, true},
		"one that is there since a moment at the start": {time.Second, nil, true, true},
		"one that comes":                         {0, nil, false, true},
		"one that comes by a clock that is slow": {time.Hour, []time.Duration{time.Hour}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var changed []string
			d := New(nil, func(group string) { changed = append(changed, group) })
			definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Name: "webs.ctl.example", CreationTimestamp: metav1.NewTime(time.Now().Add(-test.age)),
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "without a time"}},
			}}
			for _, ago := range test.written {
				definition.ManagedFields = append(definition.ManagedFields, metav1.ManagedFieldsEntry{Time: ptr.To(metav1.NewTime(time.Now().Add(-ago)))})
			}
			d.onDefinitionAdded(definition, test.initial)
			if got := len(changed) == 1 && changed[0] == "ctl.example"; got != test.want || len(changed) > 1 {
				t.Errorf("changed are %v", changed)
			}
		})
	}
}

// definingHost has the CustomResourceDefinition of things, and lists it when it may.
type definingHost struct{ mayList atomic.Bool }

func (h *definingHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case !h.mayList.Load():
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"no"}`)
	case query.Get("sendInitialEvents") == "true":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"reason":"Invalid"}`)
	case query.Get("watch") == "true":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		item := ""
		if strings.HasSuffix(r.URL.Path, "customresourcedefinitions") {
			item = `{"metadata":{"name":"things.example.com","managedFields":[{"manager":"m"}],"annotations":{"a":"b"}}}`
		}
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[`+item+`]}`)
	}
}

func followed(t *testing.T, mayList bool) (*definingHost, *Discovery) {
	t.Helper()
	fake := &definingHost{}
	fake.mayList.Store(mayList)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	d := New(client, func(string) {})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var following sync.WaitGroup
	following.Go(func() {
		if err := d.Follow(ctx, config); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); following.Wait() })
	return fake, d
}

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: name}
}

func TestTypesFromDefinitionsAreCustom(t *testing.T) {
	_, d := followed(t, true)
	for name, want := range map[string]bool{"things": true, "others": false} {
		if custom, err := d.IsCustom(t.Context(), resource(name)); custom != want || err != nil {
			t.Errorf("%s: custom is %v, error %v", name, custom, err)
		}
	}
}

func TestTypesWhoseDefinitionsAreBeingDeleted(t *testing.T) {
	d := New(nil, func(string) {})
	leaving, staying := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	leaving.Name, staying.Name = "leaving.example.com", "staying.example.com"
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	expect := func(name string, want bool) {
		t.Helper()
		if got := d.IsBeingDeleted(resource(name).GroupResource()); got != want {
			t.Errorf("%s is being deleted: %v, want %v", name, got, want)
		}
	}
	expect("leaving", false) // it is not known yet
	definitions := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, definition := range []*metav1.PartialObjectMetadata{leaving, staying} {
		kept, err := keepNameAndTimes(definition)
		if err != nil {
			t.Fatal(err)
		}
		if err := definitions.Add(kept); err != nil {
			t.Fatal(err)
		}
	}
	d.custom.set(definitions, nil)
	expect("leaving", true)
	expect("staying", false)
	expect("unknown", false)
}

func TestDefinitionsThatTheHostDoesNotList(t *testing.T) {
	fake, d := followed(t, false)
	_, err := d.IsCustom(t.Context(), resource("things"))
	if _, ok := errors.AsType[*Error](err); !ok || !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v, want an *Error that says what the host does", err)
	}
	fake.mayList.Store(true)
	waitUntil(t, "the definitions are known", func() bool {
		custom, err := d.IsCustom(t.Context(), resource("things"))
		return custom && err == nil
	})
}

func TestOfDefinitionsOnlyTheirNamesAndTimesAreKept(t *testing.T) {
	_, d := followed(t, true)
	definitions, err := d.custom.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored, _, _ := definitions.GetByKey("things.example.com")
	if annotations := stored.(interface{ GetAnnotations() map[string]string }).GetAnnotations(); len(annotations) > 0 {
		t.Errorf("the annotations %v are in memory", annotations)
	}
}
