// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"
)

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
