// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
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
