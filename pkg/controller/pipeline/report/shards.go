// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// OfShard returns what a status says of one shard, in the form of a status of its own. It names no runner
// if the controller was not split into so many when the status was written.
func OfShard(status *v1alpha1.ControllerStatus, shard object.Shard) v1alpha1.ControllerStatus {
	of := v1alpha1.ControllerStatus{HeldResources: status.HeldResources}
	switch {
	case shard.IsAll() && len(status.Shards) == 0:
		return *status
	case shard.IsAll():
		of = *status
		of.Shards = nil
	case len(status.Shards) != shard.Of:
	default:
		part := &status.Shards[shard.Index]
		of.Runner, of.ObservedGeneration, of.RunningGeneration, of.Conditions = part.Runner, part.ObservedGeneration, part.RunningGeneration, part.Conditions
		of.Parents, of.Children, of.LastError = part.Parents, part.Children, part.LastError
	}
	return of
}

// WithShard returns a status that says this of one shard, and the sum of what it says of all shards. It is split as the
// shard is.
func WithShard(status v1alpha1.ControllerStatus, shard object.Shard, is v1alpha1.ControllerStatus) v1alpha1.ControllerStatus {
	if shard.IsAll() {
		is.Shards = nil
		return is
	}
	status = *status.DeepCopy()
	if len(status.Shards) != shard.Of {
		status.Shards = make([]v1alpha1.ShardStatus, shard.Of)
		for i := range status.Shards {
			status.Shards[i].Index = int32(i)
		}
	}
	status.Shards[shard.Index] = v1alpha1.ShardStatus{
		Index: int32(shard.Index), Runner: is.Runner, ObservedGeneration: is.ObservedGeneration, RunningGeneration: is.RunningGeneration,
		Conditions: is.Conditions, Parents: is.Parents, Children: is.Children, LastError: is.LastError,
	}
	status.Runner = nil
	sumUp(&status)
	return status
}

// sumUp sets the fields that are the sums over the shards.
func sumUp(status *v1alpha1.ControllerStatus) {
	status.ObservedGeneration, status.RunningGeneration = status.Shards[0].ObservedGeneration, 0
	status.Parents, status.Children, status.LastError = &v1alpha1.ParentCounts{}, &v1alpha1.ChildCounts{}, nil
	var kinds []string
	for i := range status.Shards {
		shard := &status.Shards[i]
		status.ObservedGeneration = min(status.ObservedGeneration, shard.ObservedGeneration)
		if running := shard.RunningGeneration; running != 0 && (status.RunningGeneration == 0 || running < status.RunningGeneration) {
			status.RunningGeneration = running
		}
		addParents(&status.Parents, shard.Parents)
		addChildren(&status.Children, shard.Children)
		if last := shard.LastError; last != nil && (status.LastError == nil || status.LastError.Time.Before(&last.Time)) {
			status.LastError = last.DeepCopy()
		}
		for _, condition := range shard.Conditions {
			if !slices.Contains(kinds, condition.Type) {
				kinds = append(kinds, condition.Type)
			}
		}
	}
	status.Conditions = slices.DeleteFunc(status.Conditions, func(condition metav1.Condition) bool {
		return !slices.Contains(kinds, condition.Type)
	})
	for _, kind := range kinds {
		meta.SetStatusCondition(&status.Conditions, worstOf(status.Shards, kind))
	}
}

// addParents adds counts of parents. The sum is nil if one of them is.
func addParents(sum **v1alpha1.ParentCounts, of *v1alpha1.ParentCounts) {
	if *sum == nil || of == nil {
		*sum = nil
		return
	}
	total := *sum
	total.Total += of.Total
	total.Synced += of.Synced
	total.Failing += of.Failing
	total.Warned += of.Warned
	total.Paused += of.Paused
}

// addChildren adds counts of children. The sum is nil if one of them is.
func addChildren(sum **v1alpha1.ChildCounts, of *v1alpha1.ChildCounts) {
	if *sum == nil || of == nil {
		*sum = nil
		return
	}
	(*sum).Outdated += of.Outdated
}

// worstOf returns the worst condition of a kind that the shards have. Its message says which shard that is.
func worstOf(shards []v1alpha1.ShardStatus, kind string) metav1.Condition {
	var worst metav1.Condition
	for i := range shards {
		condition := meta.FindStatusCondition(shards[i].Conditions, kind)
		switch {
		case condition != nil:
		case isOnlyThereWhenBad(kind):
			continue
		default:
			condition = &metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: ReasonNotRunning, Message: "no replica has run it yet"}
		}
		if worst.Type != "" && !isWorse(condition, &worst) {
			continue
		}
		worst = *condition
		if worst.Status != metav1.ConditionTrue {
			worst.Message = text.Shorten(fmt.Sprintf("shard %d of %d: %s", i, len(shards), worst.Message), maxMessage)
		}
	}
	worst.LastTransitionTime = metav1.Time{} // set where the status of the sum changes
	for i := range shards {
		worst.ObservedGeneration = min(worst.ObservedGeneration, shards[i].ObservedGeneration)
	}
	return worst
}

// isOnlyThereWhenBad reports whether a condition of the kind is missing where all is well.
func isOnlyThereWhenBad(kind string) bool {
	return kind == v1alpha1.ConditionPaused || kind == v1alpha1.ConditionServiceAccountSet
}

// isWorse reports whether a condition is worse than another one of its kind.
func isWorse(condition, than *metav1.Condition) bool {
	weight := func(of *metav1.Condition) int {
		switch {
		case of.Status == metav1.ConditionFalse:
			return 3
		case of.Status == metav1.ConditionUnknown:
			return 2
		case of.Reason == ReasonNoParents: // says less than that all are synced
			return 0
		default:
			return 1
		}
	}
	return weight(condition) > weight(than)
}
