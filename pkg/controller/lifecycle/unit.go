// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// unit is what one replica runs: the controller of an object, or one of the shards that its spec splits it into.
type unit struct {
	// name is that of the object.
	name  string
	shard object.Shard
}

func (u unit) String() string { return u.shard.Name(u.name) }

func unitOf(spec *hosted.Spec) unit { return unit{spec.Name, spec.Shard} }

// leads reports whether the unit does what is done once for all shards: it takes the finalizer of the controller
// off parents that no shard handles any more.
func (u unit) leads() bool { return u.shard.Index == 0 }

// unitsOf returns the units of an object. Without other replicas there is one. Of an object that is being deleted,
// only the one that leads is left.
func (r *Reconciler) unitsOf(of controllerObject) []unit {
	count := r.shardsOf(of)
	left := count
	if of.GetDeletionTimestamp() != nil {
		left = 1
	}
	units := make([]unit, left)
	for index := range units {
		units[index] = unit{of.GetName(), object.ShardOf(index, count)}
	}
	return units
}

func (r *Reconciler) shardsOf(of controllerObject) int {
	if r.sharing == nil {
		return 1
	}
	return of.GetShards()
}

// enqueue enqueues all units of a name: those of the object, and those that it had before.
func (r *Reconciler) enqueue(name string) {
	for _, unit := range r.unitsNamed(name) {
		r.queue.Add(unit)
	}
}

func (r *Reconciler) unitsNamed(name string) []unit {
	var units []unit
	if object, err := r.api.get(name); err == nil {
		units = r.unitsOf(object)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for shard := range r.states[name] {
		if known := (unit{name, shard}); !slices.Contains(units, known) {
			units = append(units, known)
		}
	}
	if len(units) == 0 {
		units = []unit{{name: name}}
	}
	return units
}

// runnerOf returns the replica that runs a unit, empty if none does.
func runnerOf(object controllerObject, of unit) string {
	if runner := report.OfShard(object.GetStatus(), of.shard).Runner; runner != nil {
		return runner.Replica
	}
	return ""
}

// formerRunnersOf returns the replicas that run the controller as it was split before.
func formerRunnersOf(object controllerObject, of unit) (replicas []string) {
	status := object.GetStatus()
	add := func(runner *v1alpha1.Runner) {
		if runner != nil {
			replicas = append(replicas, runner.Replica)
		}
	}
	if !of.shard.IsAll() {
		add(status.Runner)
	}
	if len(status.Shards) != of.shard.Of {
		for i := range status.Shards {
			add(status.Shards[i].Runner)
		}
	}
	return replicas
}

// othersLag reports whether other shards still run with an earlier spec.
func othersLag(object controllerObject, than unit) bool {
	return slices.ContainsFunc(object.GetStatus().Shards, func(shard v1alpha1.ShardStatus) bool {
		isOther := int(shard.Index) != than.shard.Index && shard.Runner != nil
		return isOther && (shard.ObservedGeneration != object.GetGeneration() || shard.RunningGeneration != 0)
	})
}

// othersOf returns the replicas that run other shards of the object.
func othersOf(object controllerObject, than unit) (replicas []string) {
	for _, shard := range object.GetStatus().Shards {
		if int(shard.Index) != than.shard.Index && shard.Runner != nil {
			replicas = append(replicas, shard.Runner.Replica)
		}
	}
	return replicas
}
