// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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
		problem = fmt.Sprintf("it ends too early, in line %d", line)
	case offset < len(answer) && answer[offset] == '\'':
		problem = fmt.Sprintf("strings need double quotes, not the single quotes in line %d", line)
	}
	// Where something is blanked, the offset is no longer right, and a part of what is secret could be
	// cut off and not be recognised.
	if d.Whole || d.Redactor.MayShowSecrets() || d.hides(answer) {
		return fmt.Errorf("it is not valid JSON: %s; the answer is %s", problem, d.quoteAll(answer))
	}
	return fmt.Errorf("it is not valid JSON: %s, near %s", problem, near(answer, offset))
}

// hides reports whether something in an answer is blanked. It may be if the answer is long.
func (d *Decoder) hides(answer []byte) bool {
	return !d.Redactor.HidesNothing() && (len(answer) > maxReadBytes || d.Redactor.Body(answer) != string(answer))
}

// near returns what is around an offset in a text, on one line.
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
