// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// ErrMalformed is wrapped by every error about the content of an answer. An answer that cannot be read changes
// nothing in the host.
var ErrMalformed = errors.New("the hook's answer cannot be read")

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

// fields are the fields that an answer can have, with functions that read their values. The errors of these functions
// name the field.
type fields map[string]func(value []byte) error

// meantBy returns the field that an unknown one probably stands for; empty if none is similar. The author may also have
// used the name that the field of children has in the other kind of controller.
func (f fields) meantBy(unknown string) string {
	known := slices.Sorted(maps.Keys(f))
	for here, elsewhere := range map[string]string{
		composite.children: decorator.children,
		decorator.children: composite.children,
	} {
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

// within returns which of the fields a value has. It returns none if the value is not an object.
func (f fields) within(value []byte) []string {
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

// read reads the JSON object of an answer. A null counts as an empty object. The last one of duplicate fields wins.
// Errors wrap ErrMalformed.
func (d *Decoder) read(answer []byte, fields fields) error {
	if err := d.readObject(answer, fields); err != nil {
		return fmt.Errorf("%w: %s", ErrMalformed, d.Redactor.Values(err.Error()))
	}
	return nil
}

func (d *Decoder) readObject(answer []byte, fields fields) error {
	answer = bytes.TrimSpace(answer)
	switch {
	case len(answer) == 0:
		return errors.New("it is empty; a hook must return a JSON object")
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
			d.strictErrors.addUnknownField(name, fields.meantBy(name), fields.within(value))
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

// UnknownFields returns those of the strict errors that are about unknown fields.
func (d *Decoder) UnknownFields() []*UnknownField {
	var unknown []*UnknownField
	for _, err := range d.strictErrors.errors {
		if field, ok := errors.AsType[*UnknownField](err); ok {
			unknown = append(unknown, field)
		}
	}
	return unknown
}
