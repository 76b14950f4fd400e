// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"fmt"
	"strings"
	"testing"
)

// What others have written cannot take over the terminal. The codes of a Style remain, but only those that it makes.
func TestControlCharactersAreEscaped(t *testing.T) {
	bad := Style{Colored: true}.Bad
	for name, test := range map[string]struct {
		text          string
		plain, styled string
	}{
		"harmless":            {"a\tb\nÄ └── 漢", "a\tb\nÄ └── 漢", "a\tb\nÄ └── 漢"},
		"a title":             {"\x1b]0;owned\a", "^[]0;owned^G", "^[]0;owned^G"},
		"the clipboard":       {"\x1b]52;c;b3duZWQ=\x1b\\", `^[]52;c;b3duZWQ=^[\`, `^[]52;c;b3duZWQ=^[\`},
		"lines that go":       {"\x1b[2K\x1b[1A all is well", "^[[2K^[[1A all is well", "^[[2K^[[1A all is well"},
		"a line that is over": {"error\rall is well", `error\rall is well`, `error\rall is well`},
		"in one byte":         {"\u009b2J\u0085\x7f\b\v\f\x00", `\u009b2J\u0085^?^H^K^L^@`, `\u009b2J\u0085^?^H^K^L^@`},
		"turned around":       {"a\u202etxt.exe\u2066", `a\u202etxt.exe\u2066`, `a\u202etxt.exe\u2066`},
		"an end":              {"\x1b[", "^[[", "^[["},
		"a hidden text":       {"\x1b[8mhidden", "^[[8mhidden", "^[[8mhidden"},
		"a style":             {bad("wrong"), "^[[1;31mwrong^[[0m", "\x1b[1;31mwrong\x1b[0m"},
		"more in a style": {
			bad("wrong\x1b[0m\x1b[2J"), "^[[1;31mwrong^[[0m^[[2J^[[0m", "\x1b[1;31mwrong^[[0m^[[2J\x1b[0m",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for styled, want := range map[bool]string{false: test.plain, true: test.styled} {
				var to strings.Builder
				if _, err := fmt.Fprint(&Terminal{Raw: &to, Styled: styled}, test.text); err != nil || to.String() != want {
					t.Errorf("with styles %t, it prints %q (%v), want %q", styled, to.String(), err, want)
				}
			}
		})
	}
}
