// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text fits texts that people read into the room that there is for them.
package text

import "strings"

// ellipsis stands for what was left out.
const ellipsis = "…"

// Shorten returns a text with at most that many bytes. It leaves out the end of a longer one.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:max(most-len(ellipsis), 0)], "") + ellipsis
}

// OneLine returns a text without line breaks.
func OneLine(text string) string {
	if !strings.ContainsAny(text, "\n\r") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}
