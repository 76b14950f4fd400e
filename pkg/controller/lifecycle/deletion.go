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
// within milliseconds, in any order. So a controller with a finalize hook that is being deleted runs on: it calls the
// hook about the parents that are being deleted, or will be within deletionGrace. Then it stops, and its finalizer is
// removed from the other parents. All times count from the deletionTimestamp of the controller object, so that a
// restart of the process does not prolong them.
const (
	// deletionGrace is how long parents that are not being deleted keep the finalizer.
	deletionGrace = 5 * time.Second
	// hookPatience is how long the hook may leave all calls unanswered before parents lose the finalizer without it. A
	// hook that answers may take as long as it needs.
	hookPatience = 30 * time.Second
	// deletionRecheck is how often is checked what is left to do.
	deletionRecheck = 250 * time.Millisecond
)

// errWaitsForHook is the text of a controller that calls its finalize hook before it goes.
var errWaitsForHook = errors.New("the controller is being deleted: it calls its finalize hook about the parents " +
	"that are being deleted, and then goes")

// deletionWait returns what a controller that was deleted at some time waits for before it stops; nil if for nothing.
func deletionWait(left parentcontroller.LeftToDo, deleted, now time.Time) error {
	patience := deleted
	if left.Answered.After(patience) {
		patience = left.Answered
	}
	patience = patience.Add(hookPatience)
	grace := deleted.Add(deletionGrace)
	switch {
	case (left.IsBusy || left.Finalizing > 0) && now.Before(patience):
		if left.Failure == nil {
			return errWaitsForHook
		}
		return fmt.Errorf("%w (at %s, if the hook does not answer until then): %s: %s", errWaitsForHook,
			patience.UTC().Format(time.RFC3339), left.Failure.Parent, left.Failure.Message)
	case left.Staying > 0 && now.Before(grace):
		return fmt.Errorf("the controller is being deleted: it calls its finalize hook about parents that are deleted "+
			"before %s; then its finalizer is removed from the others", grace.UTC().Format(time.RFC3339))
	}
	return nil
}

// mayRunSoon reports whether no controller can be started only because the cluster does not answer, which may change
// before the patience with the hook ends.
func mayRunSoon(err error, deleted, now time.Time) bool {
	return problemOf(err).Reason == v1alpha1.ReasonClusterUnreachable && now.Before(deleted.Add(hookPatience))
}
