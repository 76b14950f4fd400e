// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// quote returns a JSON value as errors quote it.
func (d *Decoder) quote(value []byte) string { return excerpt(d.readable(value)) }

// quoteAll returns an answer, which may not be JSON, as errors quote it.
func (d *Decoder) quoteAll(answer []byte) string { return strconv.Quote(d.Show(answer)) }

// readable returns a part of an answer, redacted. It reads only the beginning of a long part, and nothing of it if a
// secret could be cut there.
func (d *Decoder) readable(part []byte) string {
	switch {
	case len(part) <= maxReadBytes:
		return d.Redactor.Body(part)
	case d.Redactor.MayShowSecrets():
		return redact.NotShown
	default:
		return d.Redactor.Beginning(part[:maxReadBytes])
	}
}

// redacted returns the error of a parser without its quotation, if that may be a part of a Secret.
func (d *Decoder) redacted(err error) error {
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || !d.Redactor.MayShowSecrets() {
		return err
	}
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return err
	}
	if invalid, ok := errors.AsType[*object.FieldError](err); ok {
		return errors.New(invalid.Problem())
	}
	return errors.New(redact.NotShown)
}

// Show returns an answer of any form as errors show it. The exception of a traceback comes first, because it has the
// error, and then the last calls, because they have the place.
func (d *Decoder) Show(answer []byte) string {
	text := d.readable(answer)
	before, exception := cutException(text)
	shown := beginning(before, maxShownBytes)
	if exception != "" {
		shown = lastCalls(before)
	}
	if d.Whole && len(text) <= maxWholeBytes {
		shown = strings.TrimSpace(text)
	}
	if exception == "" {
		return shown
	}
	return beginning(exception, maxExceptionBytes) + "; " + shown
}

// maxNearBytes is the length of what errors quote on each side of a mistake in the JSON.
const maxNearBytes = 60

// invalidJSON returns the error for an answer that is not valid JSON: what is wrong, and where.
func (d *Decoder) invalidJSON(answer []byte, err error) error {
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fmt.Errorf("it is not valid JSON: %w; the answer is %s", d.redacted(err), d.quoteAll(answer))
	}
	offset := min(int(syntactic.ByteOffset), len(answer))
	line := 1 + bytes.Count(answer[:offset], []byte("\n"))
	problem := fmt.Sprintf("%v in line %d", syntactic.Err, line)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		problem = fmt.Sprintf("it ends unexpectedly in line %d", line)
	case offset < len(answer) && answer[offset] == '\'':
		problem = fmt.Sprintf("strings need double quotes, not the single quotes in line %d", line)
	}
	// After a value is blanked, the offset is no longer right, and a part of a secret could be cut off and not be
	// recognized.
	if d.Whole || d.Redactor.MayShowSecrets() || d.hides(answer) {
		return fmt.Errorf("it is not valid JSON: %s; the answer is %s", problem, d.quoteAll(answer))
	}
	return fmt.Errorf("it is not valid JSON: %s, near %s", problem, near(answer, offset))
}

// hides reports whether something in an answer is blanked, or may be, because the answer is long.
func (d *Decoder) hides(answer []byte) bool {
	return !d.Redactor.HidesNothing() && (len(answer) > maxReadBytes || d.Redactor.Body(answer) != string(answer))
}

// near returns the text around an offset, on one line.
func near(text []byte, offset int) string {
	from, to := max(0, offset-maxNearBytes), min(len(text), offset+maxNearBytes)
	around := fold(strings.ToValidUTF8(string(text[from:to]), ""))
	if from > 0 {
		around = "…" + around
	}
	if to < len(text) {
		around += "…"
	}
	return around
}

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

// fold puts a text on one line. It leaves out the marks that Python draws below the lines of a traceback.
func fold(text string) string {
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return strings.Trim(word, "^~") == "" })
	return strings.Join(words, " ")
}

// tracebackTitle is the line with which Python begins a traceback.
const tracebackTitle = "Traceback (most recent call last):"

// lastCalls returns a traceback on one line. It cuts a long one to its end, the most recent calls.
func lastCalls(traceback string) string {
	line := fold(traceback)
	if len(line) <= maxCallsBytes {
		return line
	}
	return tracebackTitle + " … " + strings.ToValidUTF8(line[len(line)-maxCallsBytes:], "")
}

// cutException cuts a text with a traceback of Python before the exception, which is at its end. If there are several
// tracebacks, the last one counts. The exception is empty if the text has no traceback.
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
