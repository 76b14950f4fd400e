// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

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
	c.reporter.WriteWarnings(&status.Told{}, snapshotOf("d").Parent, nil, dropped, 0)
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
