// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// slowHost answers no write of a page before as many are under way as expected, and a moment later. It counts writes.
type slowHost struct {
	expected int
	refuses  string        // the name of what cannot be written
	with     int           // the status that says so; 403 if it is 0
	watched  chan struct{} // has something for each watch, none of which begins; nil if they are refused

	mu              sync.Mutex
	underWay, most  int
	pages, statuses int
	reached         sync.Once
	enough          chan struct{} // closed a moment after as many are under way as expected
}

// moment is how long more writes than expected have to come.
const moment = 100 * time.Millisecond

func (h *slowHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && h.watched != nil {
		h.watched <- struct{}{}
		<-r.Context().Done()
		return
	}
	var written struct {
		Metadata struct{ Name string }
	}
	if err := json.NewDecoder(r.Body).Decode(&written); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPut && r.URL.Path == site.SitesPath+"/"+written.Metadata.Name+"/status" {
		h.mu.Lock()
		h.statuses++
		h.mu.Unlock()
	} else {
		h.page(r)
	}
	if written.Metadata.Name == h.refuses {
		http.Error(w, "no", cmp.Or(h.with, http.StatusForbidden))
		return
	}
	fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"resourceVersion":"1"}}`, written.Metadata.Name, site.Namespace)
}

func (h *slowHost) page(r *http.Request) {
	h.mu.Lock()
	h.pages++
	h.underWay++
	h.most = max(h.most, h.underWay)
	if h.underWay == h.expected {
		h.reached.Do(func() { time.AfterFunc(moment, func() { close(h.enough) }) })
	}
	h.mu.Unlock()
	select {
	case <-h.enough:
	case <-r.Context().Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.underWay--
}

func (h *slowHost) start(t *testing.T) rest.Interface {
	h.enough = make(chan struct{})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return clientset.CoreV1().RESTClient()
}

// answering is a hook that wants so many pages of each site.
func answering(t *testing.T, pages int) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Parent site.Site }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked.Parent.Spec.Pages = pages
		if err := json.NewEncoder(w).Encode(map[string]any{"children": asked.Parent.Pages()}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (f *floor) seeSites(t *testing.T, count int) {
	for i := range count {
		seen, err := object.Parse(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"site%d","generation":1}}`,
			site.GroupVersion, site.Kind, i))
		if err != nil {
			t.Fatal(err)
		}
		f.known.siteSeen(seen, false)
	}
}

func TestWritesAreAsParallelAsAskedFor(t *testing.T) {
	t.Parallel()
	const pages = 12
	for name, test := range map[string]struct {
		sites, writersPerSync, writers int
		want                           int
	}{
		"one after the other":                 {1, 1, 64, 1},
		"those of a site are limited":         {1, 4, 64, 4},
		"those of several sites add up":       {3, 4, 64, 12},
		"those of all sites are limited, too": {3, 4, 10, 10},
		"all of a site":                       {1, 16, 64, pages},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &slowHost{expected: test.want}
			f := newFloor(host.start(t), settings{hook: answering(t, pages), workers: 5, writersPerSync: test.writersPerSync, writers: test.writers})
			f.seeSites(t, test.sites)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			group, ctx := errgroup.WithContext(ctx)
			for i := range test.sites {
				group.Go(func() error { return f.sync(ctx, fmt.Sprintf("site%d", i)) })
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
			if host.most != test.want || host.pages != test.sites*pages || host.statuses != test.sites {
				t.Errorf("%d writes were under way at once, of %d pages and %d statuses; want %d, %d and %d",
					host.most, host.pages, host.statuses, test.want, test.sites*pages, test.sites)
			}
		})
	}
}

func TestAWriteThatFailsEndsTheWork(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{"of a page": "site0-3", "of a status": "site0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &slowHost{expected: 1, refuses: refused}
			f := newFloor(host.start(t), settings{hook: answering(t, 5), workers: 1, writersPerSync: 1, writers: 1})
			f.seeSites(t, 1)
			f.queue.Add("site0")
			if err := f.work(t.Context()); err == nil || !strings.Contains(err.Error(), "sync the site site0: ") {
				t.Errorf("the error is %v, want one about the site", err)
			}
		})
	}
}

// Whoever measures edits a site again as soon as its last page is there.
func TestAStatusOfASiteThatWasEditedSinceIsLeftToTheNextSync(t *testing.T) {
	t.Parallel()
	host := &slowHost{expected: 1, refuses: "site0", with: http.StatusConflict}
	f := newFloor(host.start(t), settings{hook: answering(t, 5), workers: 1, writersPerSync: 1, writers: 1})
	f.seeSites(t, 1)
	if err := f.sync(t.Context(), "site0"); err != nil || host.statuses != 1 {
		t.Errorf("the error is %v after %d writes of a status, want none after one", err, host.statuses)
	}
}

func TestRunEndsWithWhatFailsUnlessItShallEnd(t *testing.T) {
	t.Parallel()
	of := func(host *slowHost) *floor {
		return newFloor(host.start(t), settings{workers: 2, writersPerSync: 1, writers: 1})
	}
	if err := of(&slowHost{}).run(t.Context()); err == nil || !strings.Contains(err.Error(), "watch /") {
		t.Errorf("the error is %v, want one about a watch", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	host := &slowHost{watched: make(chan struct{}, 2)}
	f, ended := of(host), make(chan error)
	go func() { ended <- f.run(ctx) }()
	for range cap(host.watched) {
		<-host.watched
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("when it shall end, that is the error %v", err)
	}
}
