// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"k8s.io/utils/clock"
)

// queueMetricPeriod is how often a queue says in metrics how long its work has not been finished.
const queueMetricPeriod = 10 * time.Second

// queueClock is the clock of the queue. A queue wakes the idle process twice a second for that metric; with this clock, it does so
// every queueMetricPeriod.
type queueClock struct{ clock.RealClock }

func (c queueClock) NewTicker(period time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(max(period, queueMetricPeriod))
}
