// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// endingClock lets nobody wait any longer once ctx has ended. A reflector whose first request
// is refused pauses for up to a minute, and does not look whether it is to end.
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After sends the time when the duration is over or ctx has ended.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	waiting, cancel := context.WithTimeout(c.ctx, d)
	context.AfterFunc(waiting, func() {
		cancel()
		fired <- c.Now()
	})
	return fired
}
