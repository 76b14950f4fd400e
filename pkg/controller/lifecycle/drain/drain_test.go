// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
)

const ours = "metacontroller.io/compositecontroller-webs"

// web is an object of the host.
type web struct {
	version    int
	finalizers []string
	isPaused   bool
	dying      bool
}

// cluster serves webs of ctl.example/v2, in pages of two, and stores updates of them.
type cluster struct {
	*testing.T
	mu   sync.Mutex
	webs map[string]*web
	// meddle is called before an update of a web is handled.
	meddle func(name string)
	// refuse is the web whose updates are refused.
	refuse  string
	updates int
	// old has lists of metadata answered with whole webs. metadataOnly reports that all lists
	// asked for metadata.
	old, metadataOnly bool
	// updatedAs are the users that updates were made as.
	updatedAs []string
	// asked are the continue tokens of the lists.
	asked []string
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	name, ofOne := strings.CutPrefix(r.URL.Path, "/apis/ctl.example/v2/namespaces/default/webs/")
	switch {
	case r.URL.Path == "/apis/ctl.example":
		_, _ = fmt.Fprint(w, `{"kind":"APIGroup","name":"ctl.example","versions":[{"groupVersion":"ctl.example/v2","version":"v2"}]}`)
	case r.URL.Path == "/apis/ctl.example/v2":
		_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"ctl.example/v2","resources":[{"name":"webs","namespaced":true,"kind":"Web"}]}`)
	case r.URL.Path == "/apis/ctl.example/v2/webs":
		metadata := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
		c.metadataOnly = c.metadataOnly && metadata
		c.asked = append(c.asked, r.URL.Query().Get("continue"))
		c.list(w, r.URL.Query().Get("continue"), metadata && !c.old)
	case ofOne && r.Method == http.MethodGet && c.webs[name] != nil:
		_, _ = fmt.Fprint(w, c.json(name))
	case ofOne && r.Method == http.MethodPut:
		c.update(w, r, name)
	default:
		failure(w, http.StatusNotFound, "NotFound")
	}
}

func (c *cluster) list(w http.ResponseWriter, from string, metadata bool) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range c.webs {
			if name >= from && !yield(name) {
				return
			}
		}
	})
	next := ""
	if len(names) > 2 {
		names, next = names[:2], names[2]
	}
	var items []string
	for _, name := range names {
		item := c.json(name)
		if metadata {
			item = strings.Replace(item, spec, "", 1)
		}
		items = append(items, item)
	}
	_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"9","continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

func (c *cluster) update(w http.ResponseWriter, r *http.Request, name string) {
	c.updates++
	c.updatedAs = append(c.updatedAs, r.Header.Get("Impersonate-User"))
	if c.meddle != nil {
		c.meddle(name)
	}
	var sent struct {
		Metadata struct {
			ResourceVersion string
			Finalizers      []string
		}
		Spec any
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		c.Error(err)
	}
	if sent.Spec == nil {
		c.Errorf("%s was updated without its spec", name)
	}
	stored := c.webs[name]
	switch {
	case stored == nil:
		failure(w, http.StatusNotFound, "NotFound")
	case sent.Metadata.ResourceVersion != fmt.Sprint(stored.version):
		failure(w, http.StatusConflict, "Conflict")
	case name == c.refuse:
		failure(w, http.StatusUnprocessableEntity, "Invalid")
	default:
		stored.version++
		stored.finalizers = sent.Metadata.Finalizers
		_, _ = fmt.Fprint(w, c.json(name))
	}
}

func (c *cluster) json(name string) string {
	stored := c.webs[name]
	finalizers, _ := json.Marshal(stored.finalizers)
	annotations := ""
	if stored.isPaused {
		annotations = `,"annotations":{"metacontroller.k8s.io/paused":"true"}`
	}
	deletion := ""
	if stored.dying {
		deletion = `,"deletionTimestamp":"2026-03-04T05:06:07Z"`
	}
	return fmt.Sprintf(`{"apiVersion":"ctl.example/v2","kind":"Web","metadata":{"name":%q,"namespace":"default","uid":"u","resourceVersion":"%d","finalizers":%s%s%s}%s}`,
		name, stored.version, finalizers, annotations, deletion, spec)
}

// spec is the part of a web that a list of metadata leaves out.
const spec = `,"spec":{"pages":1}`

func failure(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no"}`, code, reason)
}

func TestDrain(t *testing.T) {
	tests := map[string]struct {
		apiVersion, resource string
		webs                 map[string][]string
		meddle               func(c *cluster, name string)
		refuse               string
		want                 map[string][]string
		updates              int
		err                  string
	}{
		"those that are held are let go, others stay as they are": {
			webs: map[string][]string{"a": {ours}, "b": {"x/y", ours}, "c": {"x/y"}, "d": nil, "e": {ours}},
			want: map[string][]string{"a": {}, "b": {"x/y"}, "c": {"x/y"}, "d": nil, "e": {}}, updates: 3,
		},
		"a version that is no longer served": {
			apiVersion: "ctl.example/v1",
			webs:       map[string][]string{"a": {ours}}, want: map[string][]string{"a": {}}, updates: 1,
		},
		"a resource that is gone": {
			resource: "shops",
			webs:     map[string][]string{"a": {ours}}, want: map[string][]string{"a": {ours}},
		},
		"a group that is gone": {
			apiVersion: "gone.example/v1",
			webs:       map[string][]string{"a": {ours}}, want: map[string][]string{"a": {ours}},
		},
		"an object that somebody else changes at the same time": {
			webs: map[string][]string{"a": {ours}},
			meddle: func(c *cluster, name string) {
				if c.updates == 1 {
					c.webs[name].version, c.webs[name].finalizers = 7, []string{ours, "x/y"}
				}
			},
			want: map[string][]string{"a": {"x/y"}}, updates: 2,
		},
		"an object that somebody else lets go at the same time": {
			webs:   map[string][]string{"a": {ours}},
			meddle: func(c *cluster, name string) { c.webs[name].version, c.webs[name].finalizers = 7, nil },
			want:   map[string][]string{"a": nil}, updates: 1,
		},
		"an object that goes at the same time": {
			webs:   map[string][]string{"a": {ours}},
			meddle: func(c *cluster, name string) { delete(c.webs, name) },
			want:   map[string][]string{}, updates: 1,
		},
		"an object that does not keep still": {
			webs:   map[string][]string{"a": {ours}},
			meddle: func(c *cluster, name string) { c.webs[name].version++ },
			want:   map[string][]string{"a": {ours}}, updates: 4,
			err: "remove the finalizer from webs of ctl.example/v2: objects that keep the finalizer " + ours + ": 1; the " +
				"first: Web default/a keeps changing",
		},
		"one that is paused": {
			webs: map[string][]string{"paused": {ours}, "b": {ours}},
			want: map[string][]string{"paused": {ours}, "b": {}}, updates: 1,
			err: "remove the finalizer from webs of ctl.example/v2: objects that keep the finalizer " + ours +
				": 1; the first: Web default/paused is paused, so it keeps the finalizer until the pause ends",
		},
		"an object that the cluster does not let us write keeps no other": {
			webs: map[string][]string{"a": {ours}, "b": {ours}, "c": {ours}}, refuse: "b",
			want: map[string][]string{"a": {}, "b": {ours}, "c": {}}, updates: 3,
			err: "remove the finalizer from webs of ctl.example/v2: objects that keep the finalizer " + ours + ": 1; the first: can't update the finalizers of Web default/b: no",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &cluster{T: t, webs: map[string]*web{}, refuse: test.refuse}
			for name, finalizers := range test.webs {
				c.webs[name] = &web{version: 1, finalizers: finalizers, isPaused: name == "paused"}
			}
			if test.meddle != nil {
				c.meddle = func(name string) { test.meddle(c, name) }
			}
			rule := v1alpha1.ResourceRule{APIVersion: cmp.Or(test.apiVersion, "ctl.example/v2"), Resource: cmp.Or(test.resource, "webs")}
			err := pass(t, drainer(t, c), ours, rule)
			if got := fmt.Sprint(err); got != cmp.Or(test.err, "<nil>") {
				t.Errorf("error is %s, want %s", got, cmp.Or(test.err, "none"))
			}
			left := map[string][]string{}
			for name, web := range c.webs {
				left[name] = web.finalizers
			}
			if diff := gocmp.Diff(test.want, left); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
			if c.updates != test.updates {
				t.Errorf("there were %d updates, want %d", c.updates, test.updates)
			}
		})
	}
}

func TestWhatLosesTheFinalizerIsTold(t *testing.T) {
	c := &cluster{T: t, webs: map[string]*web{
		"alive": {version: 1, finalizers: []string{ours}},
		"dying": {version: 1, finalizers: []string{ours}, dying: true},
		"other": {version: 1, finalizers: []string{"x/y"}, dying: true},
	}}
	d := drainer(t, c)
	var reported []string
	d.removed = func(parent *object.Object, finalizer string, why pipeline.UnfinalizedReason) {
		reported = append(reported, parent.Name+" "+finalizer+": "+string(why))
	}
	if err := pass(t, d, ours, v1alpha1.ResourceRule{APIVersion: "ctl.example/v2", Resource: "webs"}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(reported)
	if diff := gocmp.Diff([]string{"alive " + ours + ": the controller no longer has a finalize hook",
		"dying " + ours + ": the controller no longer has a finalize hook"}, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// pass removes a finalizer in one pass, and returns why another one is needed.
func pass(t *testing.T, d *Drainer, finalizer string, resources ...v1alpha1.ResourceRule) error {
	t.Helper()
	r := newRemoval(d, finalizer, pipeline.NoFinalizeHook, Remover{}, resources, func() {})
	for r.turn(t.Context()) == goesOn {
	}
	return r.err
}

// drainer returns a Drainer of the cluster.
func drainer(t *testing.T, c *cluster) *Drainer {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return drainerAt(t, &rest.Config{Host: server.URL})
}

func drainerAt(t *testing.T, config *rest.Config) *Drainer {
	t.Helper()
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	d := New(client, discovery.New(client, func(string) {}), &act.Actor{Writer: host.NewWriter(client, 10), Parallel: 10}, func(*object.Object, string, pipeline.UnfinalizedReason) {})
	t.Cleanup(d.queue.tasks.ShutDown)
	return d
}
