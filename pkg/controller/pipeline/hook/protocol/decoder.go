// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// ErrUnreadable begins every error about the content of an answer. An answer that cannot be read
// changes nothing in the host.
var ErrUnreadable = errors.New("the hook's answer cannot be read")

// Decoder reads one answer.
type Decoder struct {
	// Redactor keeps what is secret out of errors.
	Redactor redact.Redactor
	// FindDuplicates adds duplicate fields inside the status, labels and annotations to
	// StrictErrors. The search takes time.
	FindDuplicates bool
	// Whole makes errors quote an answer as a whole, unless it is very long.
	Whole bool

	strictErrors strictErrors
}

// StrictErrors returns the first of the strict errors that the decoder has found, and how many more there are.
func (d *Decoder) StrictErrors() []error { return d.strictErrors.all() }

// fields are the fields that an answer can have. Each has a function that reads its value, and whose
// errors name the field.
type fields map[string]func(value []byte) error

// meantBy returns the field that was probably meant by one that the answer cannot have; empty if none
// is alike. The field for children has another name in the other kind of controllers, which may have
// been taken for its name here.
func (f fields) meantBy(unknown string) string {
	known := slices.Sorted(maps.Keys(f))
	for here, elsewhere := range map[string]string{composite.children: decorator.children, decorator.children: composite.children} {
		if _, there := f[here]; !there {
			continue
		}
		if found := meantBy(unknown, append(known, elsewhere)); found != elsewhere {
			return found
		}
		return here
	}
	return meantBy(unknown, known)
}

// anyIn reports whether any of the fields is in a set.
func (f fields) anyIn(set sets.Set[string]) bool {
	for name := range f {
		if set.Has(name) {
			return true
		}
	}
	return false
}

// in returns which of the fields a value has that is an object.
func (f fields) in(value []byte) []string {
	if value[0] != '{' {
		return nil
	}
	var found []string
	_ = object.Members(value, func(name string, _ []byte) error { // the value has been read before
		if _, known := f[name]; known && !slices.Contains(found, name) {
			found = append(found, name)
		}
		return nil
	})
	slices.Sort(found)
	return found
}

// read reads the JSON object of an answer. A null counts as an empty object. The last one of
// duplicate fields wins. Errors are ErrUnreadable.
func (d *Decoder) read(answer []byte, fields fields) error {
	if err := d.readObject(answer, fields); err != nil {
		return fmt.Errorf("%w: %s", ErrUnreadable, d.Redactor.Values(err.Error()))
	}
	return nil
}

func (d *Decoder) readObject(answer []byte, fields fields) error {
	answer = bytes.TrimSpace(answer)
	switch {
	case len(answer) == 0:
		return errors.New("it is empty; a hook answers with a JSON object")
	case IsNull(answer):
		return nil
	case answer[0] != '{':
		return fmt.Errorf("it must be a JSON object, but it is %s", d.quoteAll(answer))
	}
	var invalid error
	seen := sets.New[string]()
	err := object.Members(answer, func(name string, value []byte) error {
		if seen.Has(name) {
			d.strictErrors.duplicateField(name)
		}
		read, known := fields[name]
		switch {
		case known:
			seen.Insert(name)
		case d.strictErrors.isFull():
			d.strictErrors.more++
			return nil
		default:
			seen.Insert(name)
			d.addUnknownField(name, fields.meantBy(name), fields.in(value))
			return nil
		}
		invalid = read(value)
		return invalid
	})
	unknownFields := d.UnknownFields()
	redactPaths(&d.Redactor, unknownFields)
	for _, unknown := range unknownFields {
		unknown.MeantIsAbsent = unknown.Meant != "" && !seen.Has(unknown.Meant)
		if unknown.Meant != "" || fields.anyIn(seen) {
			unknown.Wraps = nil
		}
	}
	switch {
	case invalid != nil:
		return invalid
	case err != nil:
		return d.invalidJSON(answer, err)
	default:
		return nil
	}
}

// IsNull reports whether an answer is the JSON null.
func IsNull(answer []byte) bool { return string(bytes.TrimSpace(answer)) == "null" }

// redacted returns the error of a parser without what it quotes, if that may be a part of a Secret.
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

// quote returns a JSON value as errors show it.
func (d *Decoder) quote(value []byte) string { return excerpt(d.readable(value)) }

// readable returns a part of an answer as it may be shown. Of a long one, only the beginning is read, unless a secret
// could be cut there.
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

// quoteAll returns an answer, which may not be JSON, as errors show it.
func (d *Decoder) quoteAll(answer []byte) string { return strconv.Quote(d.Show(answer)) }

// Show returns an answer of any form as errors show it. The exception of a traceback comes first,
// because it tells what happened, and then the last calls, because they tell where.
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
