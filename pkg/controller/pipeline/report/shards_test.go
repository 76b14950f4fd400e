// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// split returns the status of a controller whose shards have these healths and generations. A shard without health was
// never run.
func split(generations []int64, healths ...*Health) v1alpha1.ControllerStatus {
	var whole v1alpha1.ControllerStatus
	for i, health := range healths {
		shard := object.ShardOf(i, len(healths))
		var is v1alpha1.ControllerStatus
		if health != nil {
			is = Status(OfShard(&whole, shard), generations[i], health, nil)
			is.Runner = &v1alpha1.Runner{Replica: "r"}
		}
		whole = WithShard(whole, shard, is)
	}
	return whole
}

func TestAStatusSumsUpItsShards(t *testing.T) {
	called := func(health Health) *Health { health.HookCalled = true; return &health }
	failure := &ParentError{Parent: object.Key{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "a"}}, Message: "no answer", Time: time.Unix(100, 0)}
	for name, c := range map[string]struct {
		status     v1alpha1.ControllerStatus
		generation int64
		parents    *v1alpha1.ParentCounts
		kind       string
		is         metav1.ConditionStatus
		reason     string
		message    string
	}{
		"all is well": {
			split([]int64{2, 2}, called(Health{Total: 3, Synced: 3}), called(Health{Total: 4, Synced: 4})),
			2, &v1alpha1.ParentCounts{Total: 7, Synced: 7}, v1alpha1.ConditionParentsSynced, metav1.ConditionTrue, ReasonAllSynced, "every parent is as its hook wants",
		},
		"a shard without parents says nothing about those of others": {
			split([]int64{2, 2}, called(Health{}), called(Health{Total: 4, Synced: 4})),
			2, &v1alpha1.ParentCounts{Total: 4, Synced: 4}, v1alpha1.ConditionParentsSynced, metav1.ConditionTrue, ReasonAllSynced, "every parent is as its hook wants",
		},
		"a parent fails": {
			split([]int64{2, 2}, called(Health{Total: 3, Synced: 3}), called(Health{Total: 4, Synced: 3, Failing: 1, Failure: failure, LastError: failure})),
			2, &v1alpha1.ParentCounts{Total: 7, Synced: 6, Failing: 1}, v1alpha1.ConditionParentsSynced, metav1.ConditionFalse, ReasonParentsFailing,
			"shard 1 of 2: " + failureOf(&Health{Total: 4, Failing: 1, Failure: failure}),
		},
		"a shard runs an earlier spec": {
			split([]int64{2, 1}, called(Health{}), called(Health{})),
			1, &v1alpha1.ParentCounts{}, v1alpha1.ConditionReady, metav1.ConditionTrue, ReasonRunning, "the controller runs as its spec says",
		},
		"a shard was never run": {
			split([]int64{2, 0}, called(Health{Total: 3, Synced: 3}), nil),
			0, nil, v1alpha1.ConditionReady, metav1.ConditionUnknown, ReasonNotRunning, "shard 1 of 2: no replica has run it yet",
		},
		"a shard has paused parents": {
			split([]int64{2, 2}, called(Health{}), called(Health{AllPaused: true, Paused: 1, Total: 1})),
			2, &v1alpha1.ParentCounts{Total: 1, Paused: 1}, v1alpha1.ConditionPaused, metav1.ConditionTrue, ReasonPaused, "spec.paused is true: no hook is called, and nothing is written",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.status.ObservedGeneration != c.generation || !equality.Semantic.DeepEqual(c.status.Parents, c.parents) {
				t.Errorf("the generation is %d, want %d; the parents are %+v, want %+v", c.status.ObservedGeneration, c.generation, c.status.Parents, c.parents)
			}
			got := meta.FindStatusCondition(c.status.Conditions, c.kind)
			if got == nil || got.Status != c.is || got.Reason != c.reason || got.Message != c.message || got.LastTransitionTime.IsZero() {
				t.Errorf("the condition is %+v, want %s %s %q", got, c.is, c.reason, c.message)
			}
		})
	}
}

// The least generation that runs is that of the whole; a shard that runs the present spec has none.
func TestAStatusSaysWhichSpecStillRuns(t *testing.T) {
	var whole v1alpha1.ControllerStatus
	for i, running := range []int64{0, 3, 2, 0} {
		shard, problem := object.ShardOf(i, 4), (*Problem)(nil)
		if running != 0 {
			problem = &Problem{Reason: ReasonTypesNotListed, Err: errors.New("no answer"), RunningGeneration: running}
		}
		whole = WithShard(whole, shard, Status(OfShard(&whole, shard), 4, nil, problem))
		if got := OfShard(&whole, shard).RunningGeneration; got != running {
			t.Errorf("shard %d says %d, want %d", i, got, running)
		}
	}
	if whole.RunningGeneration != 2 {
		t.Errorf("the whole says %d, want the least, 2", whole.RunningGeneration)
	}
	for i := range 4 {
		shard := object.ShardOf(i, 4)
		whole = WithShard(whole, shard, Status(OfShard(&whole, shard), 4, nil, nil))
	}
	if whole.RunningGeneration != 0 {
		t.Errorf("all run the present spec, and the whole says %d", whole.RunningGeneration)
	}
}

func TestTheLastErrorIsThatOfTheShardThatFailedLast(t *testing.T) {
	failed := func(at int64) *Health {
		return &Health{LastError: &ParentError{Message: time.Unix(at, 0).String(), Time: time.Unix(at, 0)}}
	}
	status := split([]int64{1, 1, 1}, failed(5), failed(7), failed(6))
	if got := status.LastError; got == nil || got.Time.Unix() != 7 {
		t.Errorf("the last error is %+v", got)
	}
}

// What is said of one shard changes nothing of what is said of the others, and the status does not change by itself.
func TestAShardChangesOnlyItself(t *testing.T) {
	before := split([]int64{1, 1}, &Health{Total: 1}, &Health{Total: 2})
	unchanged := before.DeepCopy()
	if same := WithShard(before, object.ShardOf(1, 2), OfShard(&before, object.ShardOf(1, 2))); !equality.Semantic.DeepEqual(same, before) {
		t.Errorf("the status becomes %+v, want %+v", same, before)
	}
	after := WithShard(before, object.ShardOf(1, 2), Status(OfShard(&before, object.ShardOf(1, 2)), 1, nil, &Problem{Reason: ReasonUnknownType, Err: errors.New("gone")}))
	if !equality.Semantic.DeepEqual(before, *unchanged) || !equality.Semantic.DeepEqual(after.Shards[0], before.Shards[0]) {
		t.Errorf("another shard changes: %+v", after.Shards[0])
	}
	if after.Parents != nil || meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the sum is %+v", after)
	}
}

func TestAStatusThatIsSplitAnew(t *testing.T) {
	whole := Status(v1alpha1.ControllerStatus{Runner: &v1alpha1.Runner{Replica: "r"}}, 1, &Health{Total: 1}, nil)
	whole.HeldResources = []v1alpha1.ResourceRule{{APIVersion: "v1", Resource: "pods"}}
	shard := object.ShardOf(1, 3)
	part := OfShard(&whole, shard)
	if part.Runner != nil || part.ObservedGeneration != 0 {
		t.Errorf("a new shard begins with %+v", part)
	}
	split := WithShard(whole, shard, part)
	if split.Runner != nil || len(split.Shards) != 3 || len(split.HeldResources) != 1 {
		t.Errorf("the status becomes %+v", split)
	}
	part = OfShard(&split, object.Shard{})
	joined := WithShard(split, object.Shard{}, part)
	if len(joined.Shards) != 0 || joined.Runner != nil || len(joined.HeldResources) != 1 {
		t.Errorf("the status that is no longer split becomes %+v", joined)
	}
}
