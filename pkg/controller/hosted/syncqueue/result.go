// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import "time"

// Result says when a parent is synced again. The zero value is Done(0).
type Result struct {
	kind  resultKind
	after time.Duration
}

type resultKind int

const (
	done resultKind = iota
	backoff
	requeueAfter
	forget
)

// Done returns the result of a sync that succeeded, which resets the backoff. If after is positive,
// it asks for another sync after that time. If several syncs have asked, the earliest time counts.
// A sync that runs earlier for another reason does not cancel it.
func Done(after time.Duration) Result { return Result{done, after} }

// Backoff returns the result of a sync that failed. It is retried with a growing delay. If after is
// positive, it asks for another sync after that time, as Done does.
func Backoff(after time.Duration) Result { return Result{backoff, after} }

// RequeueAfter returns the result of a sync that came too early: it neither failed nor succeeded.
// The parent is synced again after that time.
func RequeueAfter(after time.Duration) Result { return Result{requeueAfter, max(after, minBackoff)} }

// Forget returns the result of the sync of a parent that does not exist or is not selected. What
// earlier syncs asked for is dropped.
func Forget() Result { return Result{kind: forget} }
