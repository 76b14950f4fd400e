// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"time"
)

const interval = 50 * time.Millisecond

// Until calls check until it returns nil. When ctx ends first, the error says what was still
// missing: check's last error.
func Until(ctx context.Context, check func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var missing error
	for {
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
		case <-ticker.C:
		}
	}
}

// Within is Until with a deadline of its own.
func Within(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	return Until(ctx, check)
}
