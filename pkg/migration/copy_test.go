// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Rounds go on while each has much less to do than the one before.
func TestRoundsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		done []int
		says string
	}{
		"nothing is to do":             {[]int{0}, "1 round"},
		"everything, and nothing more": {[]int{100, 0}, "2 rounds"},
		"it gets less":                 {[]int{100, 10, 2, 0}, "4 rounds"},
		"it is changed all the time":   {[]int{100, 10, 9}, "3 rounds, while about 9 objects changed in each"},
		"as much as the round before":  {[]int{100, 60}, "2 rounds, while about 60 objects changed in each"},
	} {
		left := test.done
		got, err := untilQuiet(t.Context(), func(context.Context) (int, error) {
			done := left[0]
			left = left[1:]
			return done, nil
		})
		if err != nil || len(left) > 0 || !strings.HasSuffix(got.String(), test.says) {
			t.Errorf("%s: %s, error %v, %d rounds left", name, got, err, len(left))
		}
	}
	if _, err := untilQuiet(t.Context(), func(context.Context) (int, error) { return 0, errors.New("gone") }); err == nil {
		t.Error("the error of a round is lost")
	}
}
