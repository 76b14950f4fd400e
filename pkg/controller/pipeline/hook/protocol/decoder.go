// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// ErrUnreadable begins every error about the content of an answer. An unreadable answer changes
// nothing in the host.
var ErrUnreadable = errors.New("the hook's answer cannot be read")

// Decoder reads one answer.
type Decoder struct {
	// Redact keeps the content of the answer out of errors.
	Redact bool
	// FindDuplicates adds duplicate fields inside the status, labels and annotations to
	// StrictErrors. The search takes time.
	FindDuplicates bool

	strictErrors strictErrors
}

// StrictErrors returns the strict errors that the decoder has found.
func (d *Decoder) StrictErrors() []error { return d.strictErrors }

// fields are the fields that an answer can have. Each has a function that reads its value.
type fields map[string]func(value []byte) error

// read reads the JSON object of an answer. A null counts as an empty object. The last one of
// duplicate fields wins. Errors are ErrUnreadable.
func (d *Decoder) read(answer []byte, fields fields) error {
	if err := d.readObject(answer, fields); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}

func (d *Decoder) readObject(answer []byte, fields fields) error {
	answer = bytes.TrimSpace(answer)
	switch {
	case len(answer) == 0:
		return errors.New("it is empty; a hook answers with a JSON object")
	case string(answer) == "null":
		return nil
	case answer[0] != '{':
		return fmt.Errorf("it must be a JSON object, but it starts with %s", d.quoteText(answer))
	}
	var invalid error
	seen := sets.New[string]()
	err := object.Members(answer, func(name string, value []byte) error {
		if seen.Has(name) {
			d.strictErrors.duplicateField(name)
		}
		seen.Insert(name)
		read, known := fields[name]
		if !known {
			d.strictErrors.unknownField(name)
			return nil
		}
		if err := read(value); err != nil {
			invalid = fmt.Errorf("field %q: %w", name, err)
		}
		return invalid
	})
	if invalid != nil {
		return invalid
	}
	return d.redacted(err)
}

// redacted returns the error without what it quotes of an answer that must not be shown.
func (d *Decoder) redacted(err error) error {
	if !d.Redact || err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return err
	}
	if invalid, ok := errors.AsType[*object.FieldError](err); ok {
		return errors.New(invalid.Problem())
	}
	return errors.New(Redacted)
}

// quote returns a JSON value as errors show it.
func (d *Decoder) quote(value []byte) string { return Excerpt(value, d.Redact) }

// quoteText returns a text that may not be JSON as errors show it.
func (d *Decoder) quoteText(text []byte) string {
	if d.Redact {
		return Redacted
	}
	return fmt.Sprintf("%q", Excerpt(text, false))
}
