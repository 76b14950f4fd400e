// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"sync"
	"time"
)

// every calls again in each of the periods that are not zero, until stop is called.
func every(ctx context.Context, periods []time.Duration, again func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, period := range periods {
		if period > 0 {
			running.Go(func() { tick(ctx, period, again) })
		}
	}
	return func() { cancel(); running.Wait() }
}

func tick(ctx context.Context, period time.Duration, again func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			again()
		case <-ctx.Done():
			return
		}
	}
}
