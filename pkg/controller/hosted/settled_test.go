// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// records is a SettledStore in memory. A nil one fails.
type records map[types.UID][]byte

func (r records) Load(_ context.Context, of types.UID) ([]byte, error) {
	if r == nil {
		return nil, errors.New("no storage")
	}
	return r[of], nil
}

func (r records) Save(_ context.Context, of types.UID, record []byte) error {
	if r == nil {
		return errors.New("no storage")
	}
	r[of] = record
	return nil
}

// process is one process after the other that runs a controller for webs/a.
type process struct {
	build, text string
	answer      string
	spec        *Spec
	store       records
	// host is nil if there is nothing to write.
	host    *rest.Config
	syncAll bool
	started time.Time
}

// sync has the process recall what the one before it left, sync the parent twice, and save. It returns how
// often the hook was called by each of the syncs.
func (p *process) sync(t *testing.T) (first, second int32) {
	t.Helper()
	var calls atomic.Int32
	answering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, p.answer)
	}))
	defer answering.Close()
	config, _ := hostOfText(t, p.text, `,"status":{"observedGeneration":0,"ready":1}`)
	if p.host != nil {
		config = p.host
	}
	spec := *p.spec
	spec.Sync = &v1alpha1.Hook{Webhook: new(at(answering.URL))}
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Shutdown()
	c := controllerAt(t, config, Dependencies{
		Events: events, Settled: &Settled{Store: p.store, Build: p.build, SyncAll: p.syncAll},
		Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
	}, &spec)
	c.settled.load(t.Context(), c.resyncPeriods())
	c.settled.startedAt(p.started)
	c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	first = calls.Load()
	c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	c.settled.save(t.Context(), c.parents.settled())
	return first, calls.Load() - first
}

func (s *settledParents) startedAt(at time.Time) {
	if s != nil && !at.IsZero() {
		s.enqueued.Store(at.Unix())
	}
}

func newProcess() *process {
	spec := specOf(v1alpha1.Webhook{}, pods)
	spec.UID, spec.Generation = "controller", 1
	return &process{build: "v1", answer: `{"status":{"ready":1},"children":[]}`, spec: spec, store: records{}}
}

func TestAParentThatWasLeftSettledIsNotSyncedByTheNextProcess(t *testing.T) {
	tests := map[string]struct {
		before func(*process) // in the first process
		change func(*process) // between the two
		called int32          // how often the first sync of the second process calls the hook
	}{
		"nothing has changed":                 {called: 0},
		"the parent has":                      {change: func(p *process) { p.text = "other" }, called: 1},
		"the controller has":                  {change: func(p *process) { p.spec.Generation++ }, called: 1},
		"it is another of the same name":      {change: func(p *process) { p.spec.UID = "other"; p.store["other"] = p.store["controller"] }, called: 1},
		"it has other child types":            {change: func(p *process) { p.spec.Children = nil }, called: 1},
		"all parents are to be synced":        {change: func(p *process) { p.syncAll = true }, called: 1},
		"the build has":                       {change: func(p *process) { p.build = "v2" }, called: 1},
		"the record is of an unknown format":  {change: func(p *process) { p.store["controller"][0]++ }, called: 1},
		"the record is cut":                   {change: func(p *process) { p.store["controller"] = p.store["controller"][:8] }, called: 1},
		"the record cannot be read":           {change: func(p *process) { p.store = nil }, called: 1},
		"the answer could not be used":        {before: func(p *process) { p.answer = `{"status":{"ready":1},"children":{}}` }, called: 1},
		"the hook asked to be called again":   {before: func(p *process) { p.answer = `{"status":{"ready":1},"children":[],"resyncAfterSeconds":60}` }, called: 1},
		"the answer had something to warn of": {before: func(p *process) { p.answer = `{"status":{"ready":1},"children":[],"childs":[]}` }, called: 1},
		"a resync is due in a while":          {before: func(p *process) { p.spec.Resync, p.started = time.Hour, time.Now().Add(-30*time.Minute) }, called: 0},
		"a resync is due":                     {before: func(p *process) { p.spec.Resync, p.started = time.Hour, time.Now().Add(-61*time.Minute) }, called: 1},
		"the clock was turned back":           {before: func(p *process) { p.started = time.Now().Add(time.Hour) }, called: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProcess()
			if test.before != nil {
				test.before(p)
			}
			if first, second := p.sync(t); first != 1 || second != 1 {
				t.Fatalf("the first process calls the hook %d times, and then %d times, want once each time", first, second)
			}
			if test.change != nil {
				test.change(p)
			}
			first, second := p.sync(t)
			if first != test.called || second != 1 {
				t.Errorf("the second process calls the hook %d times, and then %d times, want %d and 1", first, second, test.called)
			}
		})
	}
}

// slowHost serves watches of one parent, webs/a, which has a status or none, and of no children. It takes writes, but the
// watches do not show them. So it is, for the next process, as if what was written had been undone.
func slowHost(t *testing.T, status string) *rest.Config {
	t.Helper()
	const written = `{"apiVersion":%q,"kind":%q,"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"2"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, written, "v1", "Pod")
		case r.Method == http.MethodPut:
			_, _ = fmt.Fprintf(w, written, "ctl.example/v1", "Web")
		case strings.HasSuffix(r.URL.Path, "/webs"):
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"}%s}}`, status)
			fallthrough
		default:
			_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL}
}

// What a process has written may be undone before the next one starts. The parent is then as it was before the
// write, and not as it was left.
func TestAParentIsSettledOnlyByASyncThatChangedNothing(t *testing.T) {
	const hasStatus = `,"status":{"observedGeneration":0,"ready":1}`
	tests := map[string]struct {
		status, children string
		ignoresStatus    bool
		called           int32 // how often the second process calls the hook
	}{
		"it changed nothing":                                     {status: hasStatus, called: 0},
		"it created a child":                                     {status: hasStatus, children: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, called: 1},
		"it wrote the status":                                    {called: 1},
		"it wrote the status, which starts no sync":              {ignoresStatus: true, called: 0},
		"it wrote the status, which starts no sync, and a child": {ignoresStatus: true, children: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, called: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProcess()
			p.host, p.answer = slowHost(t, test.status), `{"status":{"ready":1},"children":[`+test.children+`]}`
			p.spec.Targets[0].Rules[0].IgnoreStatusChanges = test.ignoresStatus
			if first, _ := p.sync(t); first != 1 {
				t.Fatalf("the first process calls the hook %d times, want once", first)
			}
			if first, _ := p.sync(t); first != test.called {
				t.Errorf("the second process calls the hook %d times, want %d", first, test.called)
			}
		})
	}
}

func TestNoParentIsRememberedWithACustomizeHook(t *testing.T) {
	spec := newProcess().spec
	spec.Customize = &v1alpha1.Hook{}
	if newSettledParents(&Settled{Store: records{}}, spec) != nil {
		t.Error("parents are remembered, although only the hook knows which related objects it wants to see")
	}
}

// What is recalled counts for the first sync only: a later one has a reason.
func TestNothingIsRecalledOnceAllParentsWereEnqueued(t *testing.T) {
	p := newProcess()
	p.sync(t)
	s := newSettledParents(&Settled{Store: p.store, Build: p.build}, p.spec)
	s.load(t.Context(), nil)
	hashes := *s.recalled.Load()
	if len(hashes) != 1 || !s.wasSettled(hashes[0]) {
		t.Fatalf("%v are recalled, want the one parent", hashes)
	}
	s.allEnqueued(time.Now())
	if s.wasSettled(hashes[0]) {
		t.Error("a parent is still recalled")
	}
}

func TestARecordOfSettledParentsIsReadAsItWasWritten(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, hashes := range [][]uint64{{}, {1}, {1, 5, 1 << 63}} {
		enqueued, read, ok := decodeSettled(encodeSettled(at, hashes))
		if !ok || !enqueued.Equal(at) || !slices.Equal(read, hashes) {
			t.Errorf("%v is read as %v of %s", hashes, read, enqueued)
		}
	}
}

// counting counts how often records are saved.
type counting struct {
	mu sync.Mutex
	records
	saved int
}

func (c *counting) Save(ctx context.Context, of types.UID, record []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved++
	return c.records.Save(ctx, of, record)
}

// A process that is killed leaves what it saved last. What has not changed is not saved again.
func TestTheRecordIsSavedWhileTheControllerRunsAndWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{records: records{}}
		c := &Controller{settled: newSettledParents(&Settled{Store: store}, newProcess().spec), parents: newParentStates(), health: newSyncHealth()}
		expect := func(saved int, hashes ...uint64) {
			t.Helper()
			synctest.Wait()
			store.mu.Lock()
			defer store.mu.Unlock()
			if _, got, _ := decodeSettled(store.records["controller"]); store.saved != saved || !slices.Equal(got, hashes) {
				t.Errorf("it was saved %d times and has %v, want %d times and %v", store.saved, got, saved, hashes)
			}
		}
		c.parents.get(web("a")).settled.Store(7)
		c.parents.get(web("fails"))
		stop := c.startSaving(t.Context())
		expect(0)
		<-time.After(settledPeriod)
		expect(1, 7)
		<-time.After(settledPeriod)
		expect(1, 7)
		c.parents.get(web("b")).settled.Store(5)
		<-time.After(settledPeriod)
		expect(2, 5, 7)
		c.parents.get(web("a")).settled.Store(0)
		stop()
		expect(3, 5)

		// A process that ends before it has looked at all parents leaves the record as it found it.
		c = &Controller{settled: newSettledParents(&Settled{Store: store}, newProcess().spec), parents: newParentStates(), health: newSyncHealth()}
		c.settled.load(t.Context(), nil)
		c.health.total.Store(2)
		c.health.update(web("a"), nil)
		c.startSaving(t.Context())()
		expect(3, 5)
		c.health.update(web("b"), nil)
		c.startSaving(t.Context())()
		expect(4)
	})
}
