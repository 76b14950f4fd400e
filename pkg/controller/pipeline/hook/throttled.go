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

// ThrottledError is the error of a call that the hook answered with 429. It is a wish,
// not a fault: the parent is synced again later and no event is written.
type ThrottledError struct {
	// After is the time the hook asked to be left alone for, an hour at most; zero if it
	// named none that could be read, and then the usual backoff applies.
	After time.Duration
}

func (t *ThrottledError) Error() string {
	if t.After == 0 {
		return "the hook asks to be called later (429)"
	}
	return fmt.Sprintf("the hook asks to be called again after %s (429)", t.After)
}

// maxThrottle is the longest time that a hook is left alone for because it asked to
// be. Who asks for more is asked again, and may answer the same.
const maxThrottle = time.Hour

// throttled reads Retry-After in either of its forms: a date or seconds.
func throttled(retryAfter string, now time.Time) *ThrottledError {
	retryAfter = strings.TrimSpace(retryAfter)
	seconds := 0.
	if date, err := http.ParseTime(retryAfter); err == nil {
		seconds = math.Ceil(date.Sub(now).Seconds())
	} else if whole, err := strconv.ParseInt(retryAfter, 10, 64); err == nil {
		seconds = float64(whole)
	}
	return &ThrottledError{After: min(duration(seconds), maxThrottle)}
}
