// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

func TestWhichWarningsAreTold(t *testing.T) {
	unknown := func(path, message string) pipeline.Warning {
		return pipeline.UnknownFieldWarning(pods.GroupKind(), path, message)
	}
	replica, inOtherWords, image := unknown("spec.replica", "a"), unknown("spec.replica", "b"), unknown("spec.imag", "c")
	each := pipeline.Warning{Reason: pipeline.UnknownAnswerField, Message: "all are deleted", EachTime: true}
	old := pipeline.Warning{Reason: pipeline.ClusterWarning, About: "old", Message: "it is old"}
	type round struct{ planned, ofWrites []pipeline.Warning }
	list := func(warnings ...pipeline.Warning) []pipeline.Warning { return warnings }
	tests := map[string]struct {
		syncs []round
		want  []string
	}{
		"none":                                {[]round{{}, {}}, nil},
		"one while it lasts":                  {[]round{{planned: list(replica)}, {planned: list(inOtherWords)}}, []string{"UnknownField: a"}},
		"one that comes back":                 {[]round{{planned: list(replica)}, {}, {planned: list(inOtherWords)}}, []string{"UnknownField: a", "UnknownField: b"}},
		"a second one":                        {[]round{{planned: list(replica)}, {planned: list(replica, image)}}, []string{"UnknownField: a", "UnknownField: c"}},
		"one that is worth an event a sync":   {[]round{{planned: list(each)}, {planned: list(each)}}, []string{"UnknownAnswerField: all are deleted", "UnknownAnswerField: all are deleted"}},
		"one of a write":                      {[]round{{ofWrites: list(old)}, {}, {ofWrites: list(old)}}, []string{"ClusterWarning: it is old"}},
		"one of a write that is planned":      {[]round{{planned: list(replica), ofWrites: list(inOtherWords)}}, []string{"UnknownField: a"}},
		"one of a write, which is then known": {[]round{{ofWrites: list(replica)}, {planned: list(inOtherWords)}}, []string{"UnknownField: a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			events, sent := eventsOf(t)
			c := &Controller{line: line{spec: &Spec{}}, Dependencies: Dependencies{Events: events}, health: newSyncHealth()}
			state, parent := &parentState{}, withUpdated(t, "")
			for _, round := range test.syncs {
				c.reportFindings(state, parent, round.planned, 0)
				c.reportWriteWarnings(state, parent, round.planned, round.ofWrites, 0)
			}
			events.SyncError(parent, errors.New("the end"))
			var told []string
			for event := range sent {
				if event.Reason == "SyncError" {
					break
				}
				told = append(told, event.Reason+": "+event.Message)
			}
			if diff := cmp.Diff(test.want, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsOfWritesAreFindings(t *testing.T) {
	c := &Controller{line: line{spec: &Spec{}}, health: newSyncHealth()}
	state := &parentState{told: toldWarnings{ofWrites: sets.New[string]()}}
	unknown := pipeline.UnknownFieldWarning(pods.GroupKind(), "spec.x", "no x")
	old := pipeline.Warning{Reason: pipeline.ClusterWarning, Message: "old"}
	for _, warning := range []pipeline.Warning{unknown, old} {
		state.told.ofWrites.Insert(warning.Key()) // as if the event had been written
	}
	c.reportWriteWarnings(state, withUpdated(t, ""), []pipeline.Warning{{Reason: pipeline.UnknownAnswerField, Message: "no y"}}, []pipeline.Warning{old, unknown}, 3)
	if got := c.health.warning(ofFields); got.Message != "no y; no x" || got.Reason != pipeline.UnknownAnswerField || c.health.outdated != 3 {
		t.Errorf("the warning is %+v, %d are outdated", got, c.health.outdated)
	}
	if got := c.health.warning(ofChildren); got == nil || got.Message != "old" || c.health.warned != 1 {
		t.Errorf("the warning about children is %+v, %d are warned", got, c.health.warned)
	}
}

func TestWhatWasChosenIsNoWarning(t *testing.T) {
	h := newSyncHealth()
	h.setFindings(web("a"), []pipeline.Warning{{Reason: pipeline.ChildOutdated, Message: "a differs", Chosen: true}}, 1)
	if h.warned != 0 || h.warning(ofChildren) != nil || h.outdated != 1 {
		t.Errorf("%d are warned, %d outdated", h.warned, h.outdated)
	}
}

// When the children are gone, the same answer has another warning, which sounds harmless.
func TestThatChildrenWereDeletedIsSaidUntilTheAnswerIsCorrected(t *testing.T) {
	misspelt := pipeline.Warning{Reason: pipeline.UnknownAnswerField, Message: "Children is not read"}
	deleted := pipeline.Warning{Reason: pipeline.ChildrenDeleted, About: misspelt.Message, Message: "all are deleted", EachTime: true}
	other := pipeline.Warning{Reason: pipeline.UnknownAnswerField, Message: "comment is not read"}
	events, sent := eventsOf(t)
	c := &Controller{line: line{spec: &Spec{}}, Dependencies: Dependencies{Events: events}, health: newSyncHealth()}
	state, parent := &parentState{}, withUpdated(t, "")
	for i, round := range []struct {
		findings []pipeline.Warning
		want     string
	}{
		{[]pipeline.Warning{misspelt}, "UnknownAnswerField Children is not read"},
		{[]pipeline.Warning{deleted, other}, "ChildrenDeleted all are deleted; comment is not read"},
		{[]pipeline.Warning{misspelt, other}, "ChildrenDeleted all are deleted; comment is not read"},
		{[]pipeline.Warning{misspelt}, "ChildrenDeleted all are deleted"},
		{nil, ""},
		{[]pipeline.Warning{misspelt}, "UnknownAnswerField Children is not read"},
	} {
		c.reportFindings(state, parent, state.told.recallDeletion(round.findings), 0)
		got := ""
		if warning := c.health.warning(ofFields); warning != nil {
			got = string(warning.Reason) + " " + warning.Message
		}
		if got != round.want {
			t.Errorf("after sync %d it says %q, want %q", i, got, round.want)
		}
	}
	events.SyncError(parent, errors.New("the end"))
	var told []string
	for event := range sent {
		if event.Reason == "SyncError" {
			break
		}
		told = append(told, event.Message)
	}
	if want := []string{misspelt.Message, deleted.Message, other.Message, misspelt.Message}; !slices.Equal(told, want) {
		t.Errorf("told was %q, want %q", told, want)
	}
}

func TestWarningsOfWritesDoNotGrow(t *testing.T) {
	events, _ := eventsOf(t)
	c, state := &Controller{line: line{spec: &Spec{}}, health: newSyncHealth(), Dependencies: Dependencies{Events: events}}, &parentState{}
	for i := range 5 * maxToldOfWrites {
		c.reportWriteWarnings(state, withUpdated(t, ""), nil, []pipeline.Warning{{Reason: pipeline.ClusterWarning, Message: fmt.Sprint(i)}}, 0)
		if known := len(state.told.ofWrites); known > maxToldOfWrites {
			t.Fatalf("%d are remembered", known)
		}
	}
}

// A hook that is not shown what it expects often fails, so that there is no answer with the warning.
func TestThatRelatedObjectsAreNotShownIsSaidAlthoughTheHookFails(t *testing.T) {
	events, sent := eventsOf(t)
	c := &Controller{line: line{spec: &Spec{}}, Dependencies: Dependencies{Events: events}, health: newSyncHealth()}
	warning := pipeline.Warning{Reason: pipeline.RelatedNotShown, About: "0", Message: "the hook is shown none"}
	state, parent := &parentState{}, withUpdated(t, "")
	for range 2 {
		c.reportCustomizeWarnings(state, parent, []pipeline.Warning{warning})
	}
	c.reportFindings(state, parent, []pipeline.Warning{warning}, 0)
	events.SyncError(parent, errors.New("the end"))
	var told []string
	for event := range sent {
		told = append(told, event.Reason)
		if event.Reason == "SyncError" {
			break
		}
	}
	if want := []string{"RelatedNotShown", "SyncError"}; !slices.Equal(told, want) {
		t.Errorf("told was %q, want %q", told, want)
	}
}

// eventsOf returns a writer of at most ten events about an object, and the events that it has written.
func eventsOf(t *testing.T) (*report.Events, chan corev1.Event) {
	t.Helper()
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1e-3, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	return events, sent
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

	c.health.setFindings(web("a"), []pipeline.Warning{{Message: "no x"}}, 0)
	c.health.setFindings(web("b"), nil, 0)
	schemas := map[object.Type]*openapi.Type{pods: {}}
	c.SetSchemas(schemas)
	if parent := <-synced; parent != web("a") {
		t.Errorf("synced is %s, which has no warning", parent)
	}
	c.health.setFindings(web("a"), nil, 0)
	dropped := []pipeline.Warning{pipeline.UnknownFieldWarning(webs.GroupKind(), "status.x", "no x")}
	c.reportWriteWarnings(&parentState{told: toldWarnings{ofWrites: sets.New(dropped[0].Key())}}, snapshotOf("d").Parent, nil, dropped, 0)
	c.health.setFindings(web("d"), nil, 0) // the next plan has no warning, because it does not write the field
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

func TestASpecHasTheSchemasOfParentsAndChildren(t *testing.T) {
	spec := &Spec{Targets: []Target{{Type: webs}, {Type: pods}}, Children: []object.Type{pods}}
	if got := spec.types(); !slices.Equal(got, []object.Type{pods, webs}) {
		t.Errorf("the types are %v", got)
	}
	spec.Schemas = map[object.Type]*openapi.Type{webs: {}}
	if !spec.LacksSchemas() {
		t.Error("the schema of a child is missing")
	}
	spec.Schemas = map[object.Type]*openapi.Type{pods: {}}
	if spec.LacksSchemas() {
		t.Error("no schema of a child is missing, and types of parents may have none for ever")
	}
}
