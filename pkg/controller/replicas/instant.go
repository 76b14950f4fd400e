// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import "time"

// instant is a moment by two clocks: that of Go, which stands still while the machine sleeps, and one
// that goes on then, if the system has one. Neither follows the time of day.
type instant struct {
	running time.Time
	awake   time.Duration
}

func now() instant { return instant{time.Now(), sinceBoot()} }

// elapsed returns how long ago the instant was, by the clock that says more.
func (i instant) elapsed() time.Duration {
	return max(time.Since(i.running), sinceBoot()-i.awake)
}
