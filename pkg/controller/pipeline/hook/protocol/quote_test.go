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

// The exception is what the author of a hook looks for.
func TestTheExceptionOfATracebackComesFirst(t *testing.T) {
	const traceback = tracebackTitle + "\n  File \"/app/hook.py\", line 12, in sync\n    replicas = parent[\"spec\"][\"replicas\"]\n               ~~~~~~^^^^\n"
	const shown = `Traceback (most recent call last): File "/app/hook.py", line 12, in sync replicas = parent["spec"]["replicas"]`
	for name, test := range map[string]struct{ answer, want string }{
		"a traceback":             {traceback + "KeyError: 'replicas'\n", "KeyError: 'replicas'; " + shown},
		"an exception of lines":   {traceback + "ValueError: no\n  such\nsize\n", "ValueError: no such size; " + shown},
		"something before it":     {"sync failed\n" + traceback + "KeyError: 'a'", "KeyError: 'a'; sync failed " + shown},
		"one that caused another": {traceback + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "ValueError: b", "ValueError: b; " + shown + " KeyError: 'a' During handling of the above exception, another exception occurred: " + shown},
		"without an exception":    {traceback, shown},
		"in Windows lines":        {strings.ReplaceAll(traceback+"KeyError: 'a'\n", "\n", "\r\n"), "KeyError: 'a'; " + shown},
		"no traceback":            {"TypeError: no\n    at sync (hook.js:1)\n", "TypeError: no at sync (hook.js:1)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Decoder{}).Show([]byte(test.answer)); got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	t.Run("all of it in the developer's mode", func(t *testing.T) {
		d := &Decoder{Whole: true}
		if got, want := d.Show([]byte(traceback+"KeyError: 'a'\n")), "KeyError: 'a'; "+traceback+"KeyError: 'a'"; got != want {
			t.Errorf("it is\n%s\nwant\n%s", got, want)
		}
	})
}
