// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import "time"

// Result is what is to become of a parent after its sync. The zero value is Done(0).
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

// Done tells that the sync went well, which ends the backoff of earlier failures. If
// after is positive, it asks for one more sync after that time. Of several such times
// the earliest counts, and syncs that come before it for another reason do not use it up.
func Done(after time.Duration) Result { return Result{done, after} }

// Backoff tells that the sync went wrong. It is tried again with a growing delay; if after is
// positive, it asks for a sync after that time as Done does.
func Backoff(after time.Duration) Result { return Result{backoff, after} }

// RequeueAfter tells that it is not the time for the sync, which is neither a failure nor the
// end of one, and that the parent is to be looked at again after that time.
func RequeueAfter(after time.Duration) Result { return Result{requeueAfter, max(after, minBackoff)} }

// Forget tells that there is no such parent, or that it is not for this controller: what
// was asked for it is dropped.
func Forget() Result { return Result{kind: forget} }
