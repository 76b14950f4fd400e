// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

const (
	shards         = 4
	shardedParents = 24
)

// runSharded runs one controller that is split, with a finalize hook.
func (f *fleet) runSharded(t *testing.T) *harness.Fixture {
	t.Helper()
	f.run(t, 1, shardedParents, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Shards = ptr.To[int32](shards)
		spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
	})
	return f.fixtures[0]
}

// waitForShards waits until replicas run so many shards, all of them the same number, and until the status says that all
// parents are synced with the current spec. It returns how long the first took.
func (f *fleet) waitForShards(count, parents int, among ...*replica) time.Duration {
	f.Helper()
	began := time.Now()
	f.fixtures[0].WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		run := map[string]int{}
		for _, shard := range status.Shards {
			run[f.nameOf(shard.Runner)]++
		}
		if count == 1 {
			run[f.nameOf(status.Runner)]++
		}
		for _, replica := range among {
			if run[replica.name] == 0 && count >= len(among) || run[replica.name] > (count+len(among)-1)/len(among) {
				return fmt.Errorf("the shards run in %v", run)
			}
			delete(run, replica.name)
		}
		if count > 1 && len(status.Shards) != count || len(run) > 0 {
			return fmt.Errorf("%d shards run, some of them in %v", len(status.Shards), run)
		}
		return nil
	})
	took := time.Since(began)
	f.fixtures[0].WaitForController(func(meta metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		counts := ptr.Deref(status.Parents, v1alpha1.ParentCounts{})
		if status.ObservedGeneration != meta.Generation || int(counts.Total) != parents || int(counts.Synced) != parents {
			return fmt.Errorf("generation %d of %d has the parents %+v, want %d", status.ObservedGeneration, meta.Generation, counts, parents)
		}
		return nil
	})
	return took
}

// editAll changes all parents of the controller, and waits until all children are changed.
func (f *fleet) editAll(value string) {
	f.Helper()
	for i := range shardedParents {
		f.fixtures[0].PatchParent(parentName(i), harness.Object{"spec": harness.Object{"value": value}})
	}
	for i := range shardedParents {
		f.fixtures[0].WaitForConfigMap(parentName(i), harness.HasData("value", value))
	}
}

func TestTheShardsOfAControllerAreSharedAmongReplicas(t *testing.T) {
	f := newFleet(t, 2)
	f.runSharded(t)
	f.waitForShards(shards, shardedParents, f.replicas...)

	f.checkWritersOfParents()
	f.editAll("1")
	writers := f.checkWritersOfParents()
	if len(writers) != 2 {
		t.Errorf("these have written parents: %v, want both replicas", writers)
	}
	t.Logf("each replica has written so many objects last: %v", writers)

	f.kill(f.replicas[1])
	f.editAll("2")
	t.Logf("all shards ran in the other replica %s after that", f.waitForShards(shards, shardedParents, f.replicas[0]))
	f.checkWritersOfParents()

	newcomer := f.start()
	took := f.waitForShards(shards, shardedParents, f.replicas[0], newcomer)
	t.Logf("a newcomer had its share after %s", took)
	if took > newcomerShare {
		t.Errorf("a newcomer had its share after %s, want at most %s: it does not wait for the Lease of the dead one", took, newcomerShare)
	}
	f.editAll("3")
	if writers := f.checkWritersOfParents(); len(writers) != 2 {
		t.Errorf("these have written parents: %v, want both replicas", writers)
	}
}

// While a controller is split anew, no parent has two writers, and no edit is lost.
func TestAControllerIsSplitAnew(t *testing.T) {
	f := newFleet(t, 2)
	fixture := f.runSharded(t)
	f.waitForShards(shards, shardedParents, f.replicas...)
	f.checkWritersOfParents()
	for i, count := range []int32{2, 1, 3} {
		fixture.PatchController(harness.Object{"spec": harness.Object{"shards": count}})
		f.editAll(fmt.Sprint("split ", i))
		t.Logf("%d shards ran after %s", count, f.waitForShards(int(count), shardedParents, f.replicas...))
		f.editAll(fmt.Sprint("then ", i))
		f.checkWritersOfParents()
	}
}

// The finalizer of a controller that is split comes off the parents of all shards, once all have stopped.
func TestAControllerThatIsSplitIsDeleted(t *testing.T) {
	f := newFleet(t, 2)
	fixture := f.runSharded(t)
	f.waitForShards(shards, shardedParents, f.replicas...)
	fixture.WaitForParentsWithFinalizer(shardedParents)

	for i := range 6 {
		fixture.DeleteParent(parentName(i))
	}
	for i := range 6 {
		fixture.WaitUntilParentIsGone(parentName(i))
	}
	f.waitForShards(shards, shardedParents-6, f.replicas...)

	fixture.PatchController(harness.Object{"spec": harness.Object{"hooks": harness.Object{"finalize": nil}}})
	fixture.WaitForParentsWithFinalizer(0)
	fixture.PatchController(harness.Object{"spec": harness.Object{"hooks": harness.Object{"finalize": harness.Object{
		"webhook": harness.Object{"url": f.hook.URL(harness.FinalizePath)},
	}}}})
	fixture.WaitForParentsWithFinalizer(shardedParents - 6)

	fixture.DeleteController()
	fixture.WaitUntilControllerIsGone()
	fixture.WaitForParentsWithFinalizer(0)
}
