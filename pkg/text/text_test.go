// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		most int
		want string
	}{
		"a text that fits":              {"hello", 5, "hello"},
		"a text that is too long":       {"hello world", 8, "hello…"},
		"a character that would be cut": {"aüüü", 5, "a…"},
		"no room for any of it":         {"hello", 3, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Shorten(test.text, test.most)
			if got != test.want || len(got) > test.most || !utf8.ValidString(got) {
				t.Errorf("it is %q, want %q", got, test.want)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"two  words":            "two  words", // its own spaces stay
		"two\nlines":            "two lines",
		"\n* one:\r\n  * two\n": "* one: * two",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := Join(names); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestJoinFirst(t *testing.T) {
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
			if got := JoinFirst(3, test.names); got != test.want {
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
	if got := JoinFirstFunc(2, []int{7, 8, 9}, name); got != "7, 8 and 1 more" || asked != 2 {
		t.Errorf("it says %q and asks for %d names", got, asked)
	}
}
