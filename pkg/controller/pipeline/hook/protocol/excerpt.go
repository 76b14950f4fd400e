// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

const (
	// maxExcerptBytes is the length of the part of an answer that errors quote.
	maxExcerptBytes = 120
	// maxShownBytes is the length of what errors quote of a failing answer, and maxExceptionBytes of an exception
	// in it.
	maxShownBytes     = 2048
	maxExceptionBytes = 1024
	// maxCallsBytes is the length of what errors quote of the calls of a long traceback, so that an event has room for it.
	maxCallsBytes = 550
	// maxWholeBytes is the length up to which errors can quote all of an answer.
	maxWholeBytes = 16384
	// maxReadBytes is the length of the part of an answer that is read to show some of it.
	maxReadBytes = 65536
)

// excerpt returns the beginning of a text on one line, enough to recognise the text by.
func excerpt(of string) string { return beginning(of, maxExcerptBytes) }

// beginning returns the beginning of a text on one line.
func beginning(of string, most int) string {
	return text.Shorten(fold(of[:min(len(of), maxReadBytes)]), most)
}

// fold puts a text on one line. It leaves out what Python draws below the lines of a traceback.
func fold(text string) string {
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return strings.Trim(word, "^~") == "" })
	return strings.Join(words, " ")
}
