// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"strings"
	"testing"
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
