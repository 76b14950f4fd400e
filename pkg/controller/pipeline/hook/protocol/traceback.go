// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import "strings"

// tracebackTitle is the line with which Python begins a traceback.
const tracebackTitle = "Traceback (most recent call last):"

// lastCalls returns a traceback on one line. Of a long one, it returns the end: the most recent calls.
func lastCalls(traceback string) string {
	line := fold(traceback)
	if len(line) <= maxCallsBytes {
		return line
	}
	return tracebackTitle + " … " + strings.ToValidUTF8(line[len(line)-maxCallsBytes:], "")
}

// cutException cuts a text with a traceback of Python before the exception, which is at its end. With
// several tracebacks, the last one counts. The exception is empty if the text has no traceback.
func cutException(text string) (before, exception string) {
	start := strings.LastIndex(text, tracebackTitle)
	if start < 0 {
		return text, ""
	}
	end := start + len(tracebackTitle)
	for line := range strings.Lines(text[end:]) {
		if isException := strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " "); isException {
			return text[:end], text[end:]
		}
		end += len(line)
	}
	return text, ""
}
