// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestNobodyWaitsForTheClockOfAWatchThatHasEnded(t *testing.T) {
	for name, test := range map[string]struct{ ends, want time.Duration }{
		"it ends before": {time.Second, time.Second},
		"it ends after":  {time.Hour, time.Minute},
		"it has ended":   {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), test.ends)
				defer cancel()
				at := <-endingClock{ctx: ctx}.After(time.Minute)
				if waited := time.Since(started); waited != test.want || !at.Equal(time.Now()) {
					t.Errorf("waited %s, want %s", waited, test.want)
				}
			})
		})
	}
}
