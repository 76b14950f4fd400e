// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strings"
)

const (
	// maxExcerptBytes is the length of the part of an answer that errors quote.
	maxExcerptBytes = 120
	// maxHeadBytes and maxTailBytes are the lengths of what errors quote of a failing answer. The
	// tail is longer, because the last lines of a traceback tell what happened.
	maxHeadBytes = 250
	maxTailBytes = 550
	// maxWholeBytes is the length up to which errors can quote all of an answer.
	maxWholeBytes = 16384
)

// excerpt returns the beginning of a text on one line, enough to recognise the text by.
func excerpt(text string) string {
	line := fold(text[:min(len(text), 2*maxExcerptBytes)])
	if len(line) <= maxExcerptBytes && len(text) <= 2*maxExcerptBytes {
		return line
	}
	return strings.ToValidUTF8(line[:min(len(line), maxExcerptBytes)], "") + "…"
}

// HeadAndTail returns the beginning and the end of a text on one line.
func HeadAndTail(text string) string {
	const most = maxHeadBytes + maxTailBytes
	text = strings.TrimSpace(text)
	head, tail := text, text
	if len(text) > 4*most {
		head, tail = text[:2*most], text[len(text)-2*most:]
	}
	head, tail = fold(head), fold(tail)
	if len(text) <= 4*most && len(head) <= most {
		return head
	}
	return strings.ToValidUTF8(head[:min(len(head), maxHeadBytes)], "") + " … " + strings.ToValidUTF8(tail[max(0, len(tail)-maxTailBytes):], "")
}

// fold puts a text on one line. It leaves out what Python draws below the lines of a traceback.
func fold(text string) string {
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return strings.Trim(word, "^~") == "" })
	return strings.Join(words, " ")
}
