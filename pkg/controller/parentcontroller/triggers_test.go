// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
)

func TestWhichChangesOfAChildMayConcernTheController(t *testing.T) {
	const (
		ours   = `"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"p","uid":"u","controller":true}]`
		theirs = `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]`
	)
	c := &triggers{
		observer:      &observe.Observer{Targets: []*observe.Target{{View: &cache.View{Type: webs}}}, Claims: observe.NewLabelClaims(true)},
		nameConflicts: newNameConflicts(),
	}
	c.nameConflicts.set(web("p"), []object.Key{child("ConfigMap", "default", "wanted")})
	tests := map[string]struct {
		name, before, after string
		want                bool
	}{
		"a child of ours":                                {"a", ours, ours, true},
		"a child of another controller's":                {"a", theirs, theirs, false},
		"somebody's whose name one of our parents wants": {"wanted", theirs, theirs, true},
		"which is gone":                                  {"wanted", theirs, "", true},
		"which is new":                                   {"wanted", "", theirs, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after *object.Object
			if test.before != "" {
				before = configMap(t, test.name, test.before)
			}
			if test.after != "" {
				after = configMap(t, test.name, test.after)
			}
			if got := c.mayConcern(before, after); got != test.want {
				t.Errorf("it may: %v, want %v", got, test.want)
			}
		})
	}
}

// In Metacontroller a resyncPeriodSeconds longer than the period of the process has no effect.
func TestQ33EachResyncPeriodHoldsBesideTheOther(t *testing.T) {
	const m = time.Minute
	tests := map[string]struct {
		periods []time.Duration
		want    []time.Duration
	}{
		"that of the spec is longer":  {[]time.Duration{45 * m, 30 * m}, []time.Duration{30 * m, 45 * m, 60 * m, 90 * m, 90 * m, 120 * m}},
		"that of the spec is shorter": {[]time.Duration{50 * m, 70 * m}, []time.Duration{50 * m, 70 * m, 100 * m}},
		"the process has none":        {[]time.Duration{60 * m, 0}, []time.Duration{60 * m, 120 * m}},
		"the spec has none":           {[]time.Duration{0, 60 * m}, []time.Duration{60 * m, 120 * m}},
		"there is none":               {[]time.Duration{0, 0}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var times []time.Duration
				started := time.Now()
				stop := startPeriodic(t.Context(), test.periods, func() {
					mu.Lock()
					defer mu.Unlock()
					times = append(times, time.Since(started))
				})
				time.Sleep(125 * m)
				stop()
				time.Sleep(125 * m)
				if !slices.Equal(times, test.want) {
					t.Errorf("resynced after %v, want %v", times, test.want)
				}
			})
		})
	}
}

// A start syncs all parents. Users wait for none of that, and what the first syncs have written waits for it.
func TestAStartSyncsParentsBehindThoseThatChange(t *testing.T) {
	c := made(t)
	defer c.Close()
	type synced struct {
		parent object.Key
		cause  syncqueue.Cause
	}
	const parents = 20
	syncs := make(chan synced, 2*parents)
	note := func(_ context.Context, parent object.Key, cause syncqueue.Cause) syncqueue.Result {
		syncs <- synced{parent, cause}
		return syncqueue.Done(0)
	}
	c.queue = syncqueue.New(t.Name(), 1, nil, note)
	for i := range parents {
		c.parentChanged(nil, snapshotOf(fmt.Sprint("p-", i)).Parent, true)
	}
	before := snapshotOf("p-19").Parent
	changed := *before
	changed.Hash++
	written := snapshotOf("written").Parent
	c.parentChanged(written, written, false)
	c.parentChanged(before, &changed, false)
	c.parentChanged(nil, snapshotOf("new").Parent, false)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { c.queue.Run(ctx) })
	for _, want := range []synced{{web("p-19"), syncqueue.ParentChanged}, {web("new"), syncqueue.ParentChanged}} {
		if got := <-syncs; got != want {
			t.Errorf("%s is synced because of %q, want %s because of %q", got.parent, got.cause, want.parent, want.cause)
		}
	}
	var causes []syncqueue.Cause
	for range parents {
		causes = append(causes, (<-syncs).cause)
	}
	if at := slices.Index(causes, syncqueue.StatusChanged); at < 7 || at > 9 {
		t.Errorf("what was written is synced after %d others, want every ninth sync to be one of that: %v", at, causes)
	}
}

func TestWhenAllParentsAreSyncedAgain(t *testing.T) {
	start := time.Unix(1000, 0)
	every := (*ticksOf([]time.Duration{0, time.Minute}, start))[0]
	for after, want := range map[time.Duration]time.Duration{
		0:                time.Minute,
		59 * time.Second: time.Minute,
		time.Minute:      2 * time.Minute,
		90 * time.Second: 2 * time.Minute,
	} {
		if got := every.after(start.Add(after)).Sub(start); got != want {
			t.Errorf("after %s, the next is at %s, want %s", after, got, want)
		}
	}
}

func TestWarnedParentsAreSyncedWhenASchemaChanges(t *testing.T) {
	c := made(t)
	c.Close()
	synced := make(chan object.Key, 10)
	c.queue = syncqueue.New(t.Name(), 1, nil, func(_ context.Context, parent object.Key, _ syncqueue.Cause) syncqueue.Result {
		synced <- parent
		return syncqueue.Done(0)
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.queue.Run(ctx) })
	defer func() { stop(); running.Wait() }()

	c.reporter.SetFindings(web("a"), []pipeline.Warning{{Message: "no x"}}, 0)
	c.reporter.SetFindings(web("b"), nil, 0)
	schemas := map[object.Type]*openapi.Type{pods: {}}
	c.SetSchemas(schemas)
	if parent := <-synced; parent != web("a") {
		t.Errorf("synced is %s, which has no warning", parent)
	}
	c.reporter.SetFindings(web("a"), nil, 0)
	dropped := []pipeline.Warning{pipeline.UnknownFieldWarning(webs.GroupKind(), "status.x", "no x")}
	c.reporter.Events, _ = eventsOf(t)
	c.reporter.WriteWarnings(&status.Reported{}, snapshotOf("d").Parent, nil, dropped, 0)
	c.reporter.SetFindings(web("d"), nil, 0) // the next plan has no warning, because it does not write the field
	changed := map[object.Type]*openapi.Type{pods: {}}
	c.SetSchemas(changed)
	c.queue.Enqueue(syncqueue.Resync, web("b"))
	if parent := <-synced; parent != web("d") {
		t.Fatalf("synced first is %s, of which the host has not warned", parent)
	}
	if parent := <-synced; parent != web("b") {
		t.Errorf("synced then is %s, which was not asked for", parent)
	}
	c.SetSchemas(changed)
	c.queue.Enqueue(syncqueue.Resync, web("c"))
	if parent := <-synced; parent != web("c") {
		t.Errorf("synced is %s, although no schema has changed", parent)
	}
}
