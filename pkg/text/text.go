// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text shortens texts for people.
package text

import "strings"

// ellipsis replaces omitted text.
const ellipsis = "…"

// Shorten returns a text, which it truncates if the text is longer than most bytes.
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
