// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntilRepeatsTheCheckUntilItHolds(t *testing.T) {
	calls := 0
	err := Until(t.Context(), func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("got %v after %d calls, want nil after 3", err, calls)
	}
}

func TestACheckThatTakesLongIsRepeatedLater(t *testing.T) {
	for name, test := range map[string]struct{ takes, pause time.Duration }{
		"a quick check":            {time.Millisecond, 50 * time.Millisecond},
		"one that runs a program":  {100 * time.Millisecond, 200 * time.Millisecond},
		"one that takes very long": {10 * time.Second, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended time.Time
				err := Until(t.Context(), func(context.Context) error {
					if !ended.IsZero() {
						if pause := time.Since(ended); pause != test.pause {
							t.Errorf("the pause is %s, want %s", pause, test.pause)
						}
						return nil
					}
					<-time.After(test.takes)
					ended = time.Now()
					return errors.New("not yet")
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWithinSaysWhatWasMissing(t *testing.T) {
	calls := 0
	err := Within(t.Context(), 10*time.Millisecond, func(ctx context.Context) error {
		if calls++; calls == 1 {
			return errors.New("no pod yet")
		}
		<-ctx.Done()
		return ctx.Err() // what a client says when it is cut off
	})
	if err == nil || !strings.Contains(err.Error(), "no pod yet") || !strings.Contains(err.Error(), "not within 10ms") {
		t.Errorf("got %v, want the deadline and what was missing", err)
	}
}
