// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 500_000_000, time.UTC)
	tests := map[string]struct {
		header string
		want   time.Duration
	}{
		"seconds":                               {"7", 7 * time.Second},
		"seconds in white space":                {" 7 ", 7 * time.Second},
		"a date, rounded up to whole seconds":   {"Wed, 04 Mar 2026 05:06:10 GMT", 3 * time.Second},
		"a date in the form of RFC 850":         {"Wednesday, 04-Mar-26 05:06:10 GMT", 3 * time.Second},
		"a date in the form of ANSI C":          {"Wed Mar  4 05:06:10 2026", 3 * time.Second},
		"a date that is past names no time":     {"Wed, 04 Mar 2026 05:06:00 GMT", 0},
		"zero seconds name no time":             {"0", 0},
		"less than zero seconds name no time":   {"-5", 0},
		"nothing names no time":                 {"", 0},
		"garbage names no time":                 {"soon", 0},
		"a fraction names no time":              {"1.5", 0},
		"more than a number holds names none":   {"99999999999999999999", 0},
		"an hour":                               {"3600", time.Hour},
		"more than an hour is an hour":          {"3601", time.Hour},
		"a date in another millennium likewise": {"Fri, 31 Dec 9999 23:59:59 GMT", time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := throttled(test.header, now).After; got != test.want {
				t.Errorf("called again after %s, want %s", got, test.want)
			}
		})
	}
}

func TestThrottledSaysWhen(t *testing.T) {
	if got, want := (&ThrottledError{After: 90 * time.Second}).Error(), "the hook answered 429; the server calls it again after 1m30s"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got, want := (&ThrottledError{}).Error(), "the hook answered 429; the server calls it later"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
