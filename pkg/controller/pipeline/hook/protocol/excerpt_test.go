// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

func TestExcerpt(t *testing.T) {
	x := func(count int) string { return strings.Repeat("x", count) }
	tests := map[string]struct{ text, want string }{
		"a short text":                         {"ok", "ok"},
		"nothing":                              {"", ""},
		"a text that just fits":                {x(120), x(120)},
		"a text that just does not":            {x(121), x(117) + "…"},
		"lines":                                {"Traceback:\n  File \"a.py\"\r\n\tx = 1\n", `Traceback: File "a.py" x = 1`},
		"it is not cut within a letter":        {"x" + strings.Repeat("ü", 100), "x" + strings.Repeat("ü", 58) + "…"},
		"white space":                          {strings.Repeat(" ", 5000) + "end", "end"},
		"many short lines that together fit":   {strings.Repeat("ab\n", 40), strings.TrimSpace(strings.Repeat("ab ", 40))},
		"many short lines that are cut behind": {strings.Repeat("ab\n", 400), strings.Repeat("ab ", 39) + "…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := excerpt(test.text); got != test.want {
				t.Errorf("it is %q, want %q", got, test.want)
			}
		})
	}
}

func TestOfALongAnswerTheBeginningIsRead(t *testing.T) {
	long := strings.Repeat("x", maxReadBytes-4)
	for name, test := range map[string]struct{ answer, want string }{
		"without secrets": {
			long + strings.Repeat("y", 100), strings.Repeat("x", maxShownBytes-3) + "…",
		},
		"that mentions a Secret":                  {long + "Secret", redact.NotShown},
		"with a credential where the rest is cut": {strings.Repeat(" ", maxReadBytes-3) + "t0ken and more", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decoder{Redactor: redact.Redactor{Credentials: []string{"t0ken"}, Answer: []byte(test.answer)}}
			if got := d.Show([]byte(test.answer)); got != test.want {
				t.Errorf("shown is %.100q, want %.100q", got, test.want)
			}
		})
	}
}
