// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxThrottle limits the pause that a hook asks for with Retry-After. A hook that asks for more is called again
// after that time, and may ask again.
const maxThrottle = time.Hour

// ThrottledError is the error of a call to which the hook responded with 429. It is not a failure: the parent is
// synced again later, and no event is written.
type ThrottledError struct {
	// After is the time after which the hook wants to be called again, at most maxThrottle. It is zero if the hook
	// named no valid time; the usual backoff then applies, up to maxPause.
	After time.Duration
}

func (t *ThrottledError) Error() string {
	if t.After == 0 {
		return "the hook answered 429; the server calls it later"
	}
	return fmt.Sprintf("the hook answered 429; the server calls it again after %s", t.After)
}

// throttled reads Retry-After, which is a date or a number of seconds.
func throttled(retryAfter string, now time.Time) *ThrottledError {
	retryAfter = strings.TrimSpace(retryAfter)
	seconds := 0.
	if date, err := http.ParseTime(retryAfter); err == nil {
		seconds = math.Ceil(date.Sub(now).Seconds())
	} else if whole, err := strconv.ParseInt(retryAfter, 10, 64); err == nil {
		seconds = float64(whole)
	}
	seconds = min(max(seconds, 0), maxThrottle.Seconds())
	return &ThrottledError{After: time.Duration(seconds) * time.Second}
}
