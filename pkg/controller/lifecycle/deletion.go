// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
)

// GitOps tools and package managers delete a controller, its parents, their CustomResourceDefinition and the hook
// within milliseconds, in any order. So a controller with a finalize hook that is being deleted keeps running: it calls
// the hook for the parents that are being deleted, or will be: within deletionGrace, or when the cluster gets to them,
// which deletes the objects of only a few CustomResourceDefinitions at a time. Then it stops, and its finalizer is
// removed from the other parents.
const (
	// deletionGrace is the time, from the deletionTimestamp of the controller object, for which parents that are not being
	// deleted keep the finalizer.
	deletionGrace = 5 * time.Second
	// hookPatience bounds the time for which the hook may leave all calls of this process unanswered before parents lose
	// the finalizer without it. A hook that answers may take as long as it needs.
	hookPatience = 30 * time.Second
	// deletionRecheck is the interval at which the controller checks what is left to do, within the grace. After it, the
	// interval is longer, because the hook may take hours.
	deletionRecheck, deletionSlowRecheck = 250 * time.Millisecond, time.Second
)

// errWaitsForHook says that a controller calls its finalize hook before it stops.
var errWaitsForHook = errors.New("the controller is being deleted: it calls its finalize hook for the parents " +
	"that are being deleted, and then stops")

// deletionWait returns the reason why a controller that was deleted at some time has not stopped yet; nil if it can
// stop.
func deletionWait(left parentcontroller.LeftToDo, deleted, now time.Time) error {
	grace, silent := deleted.Add(deletionGrace), now.Sub(left.Answered) >= hookPatience
	switch {
	case (left.IsBusy || left.Finalizing > 0) && !silent:
		if left.Failure == nil {
			return errWaitsForHook
		}
		return fmt.Errorf("%w, or stops once the hook has not responded for %s: %s: %s", errWaitsForHook, hookPatience,
			left.Failure.Parent, left.Failure.Message)
	case left.ToBeDeleted > 0 && !silent:
		return fmt.Errorf("the controller is being deleted: it waits until the cluster deletes its parents (%d left) with "+
			"their CustomResourceDefinition, and then calls its finalize hook for them", left.ToBeDeleted)
	case left.Staying > 0 && now.Before(grace):
		return fmt.Errorf("the controller is being deleted: it calls its finalize hook for parents that are deleted "+
			"before %s; then the server removes its finalizer from the others", grace.UTC().Format(time.RFC3339))
	}
	return nil
}

// mayRunSoon reports whether no controller can be started only because the cluster does not respond, which may change
// before the patience ends that began when this process saw the deletion.
func mayRunSoon(err error, seen, now time.Time) bool {
	return problemOf(err).Reason == v1alpha1.ReasonClusterUnreachable && now.Sub(seen) < hookPatience
}

// completesCalls reports whether the controller is waiting for answers of a finalize hook that the next spec, which
// this process has seen at some time, does not call again. They have to end before the controller is replaced, unless
// the patience ends earlier. No further sync begins.
func (r *running) completesCalls(next *parentcontroller.Spec, seen time.Time) bool {
	return r.spec.LeavesFinalizing(next) && time.Since(seen) < hookPatience && !r.controller.Leaving.End()
}
