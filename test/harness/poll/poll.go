// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"time"
)

// The pause between two checks is twice as long as the last check took, within these limits. So a test
// that waits leaves most of the processors to what it waits for, even if its check runs kubectl.
const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// Until calls check until it returns nil. When ctx ends first, the error says what was still
// missing: check's last error.
func Until(ctx context.Context, check func(context.Context) error) error {
	var missing error
	for {
		begun := time.Now()
		err := check(ctx)
		if err == nil {
			return nil
		}
		// A check that was cut off by ctx only knows that; what it said before is what helps.
		if missing == nil || ctx.Err() == nil {
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-time.After(min(max(2*time.Since(begun), shortestPause), longestPause)):
		}
	}
}

// Within is Until with a deadline of its own.
func Within(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	return Until(ctx, check)
}
