// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	x := func(count int) string { return strings.Repeat("x", count) }
	tests := map[string]struct{ text, want string }{
		"a short text":                         {"ok", "ok"},
		"nothing":                              {"", ""},
		"a text that just fits":                {x(120), x(120)},
		"a text that just does not":            {x(121), x(120) + "…"},
		"lines":                                {"Traceback:\n  File \"a.py\"\r\n\tx = 1\n", `Traceback: File "a.py" x = 1`},
		"it is not cut within a letter":        {"x" + strings.Repeat("ü", 100), "x" + strings.Repeat("ü", 59) + "…"},
		"what is left out behind white space":  {x(10) + strings.Repeat(" ", 300) + "end", x(10) + "…"},
		"letters cut off behind white space":   {strings.Repeat(" ", 239) + "ü", "…"},
		"many short lines that together fit":   {strings.Repeat("ab\n", 40), strings.TrimSpace(strings.Repeat("ab ", 40))},
		"many short lines that are cut behind": {strings.Repeat("ab\n", 400), strings.Repeat("ab ", 40) + "…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := excerpt(test.text); got != test.want {
				t.Errorf("it is %q, want %q", got, test.want)
			}
		})
	}
}

func TestHeadAndTail(t *testing.T) {
	x := func(count int) string { return strings.Repeat("x", count) }
	lines := func(count int) string { return strings.Repeat("ab\n", count) }
	tests := map[string]struct{ text, want string }{
		"a short text":                  {"ok", "ok"},
		"nothing":                       {"", ""},
		"white space":                   {strings.Repeat(" ", 5000), ""},
		"a text that just fits":         {x(800), x(800)},
		"a text that just does not":     {"a" + x(799) + "z", "a" + x(249) + " … " + x(549) + "z"},
		"lines that together fit":       {lines(260), strings.TrimSpace(strings.Repeat("ab ", 260))},
		"a very long text":              {"begin " + x(100_000) + " end", "begin " + x(244) + " … " + x(546) + " end"},
		"it is not cut within a letter": {strings.Repeat("ü", 500) + "x", strings.Repeat("ü", 125) + " … " + strings.Repeat("ü", 274) + "x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HeadAndTail(test.text); got != test.want {
				t.Errorf("it is %q, want %q", got, test.want)
			}
		})
	}
}
