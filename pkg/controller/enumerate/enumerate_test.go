// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package enumerate

import (
	"strconv"
	"testing"
)

func TestFirst(t *testing.T) {
	for name, test := range map[string]struct {
		names []string
		want  string
	}{
		"one":                     {[]string{"a"}, "a"},
		"as many as are named":    {[]string{"a", "b", "c"}, "a, b, c"},
		"more than can be named":  {[]string{"a", "b", "c", "d", "e"}, "a, b, c and 2 more"},
		"none, which is no error": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := First(3, test.names); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestOnlyTheFirstAreAskedForTheirNames(t *testing.T) {
	asked := 0
	name := func(i int) string {
		asked++
		return strconv.Itoa(i)
	}
	if got := FirstFunc(2, []int{7, 8, 9}, name); got != "7, 8 and 1 more" || asked != 2 {
		t.Errorf("it says %q and asks for %d names", got, asked)
	}
}

func TestAll(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := All(names); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
