// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// ErrUnreadable is what every error about an answer's content starts with. An
// unreadable answer changes nothing in the host.
var ErrUnreadable = errors.New("the hook's answer cannot be read")

// notShown stands for what does not belong into logs and errors.
const notShown = "(not shown, there are Secrets in it)"

// reader reads one answer.
type reader struct {
	// secret keeps what the answer says out of errors.
	secret bool
	// closely makes the reader look for oddities that take time to find.
	closely bool
	// unread tells that nothing holds on to the answer.
	unread bool
	strict strictErrors
}

// fields are the fields an answer can have, each with what reads its value.
type fields map[string]func(value []byte) error

// read reads the JSON object of an answer; null counts as an empty one. Of a field that
// is there twice the last one counts. Errors are ErrUnreadable.
func (r *reader) read(answer []byte, fields fields) error {
	if err := r.readObject(answer, fields); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}

func (r *reader) readObject(answer []byte, fields fields) error {
	answer = bytes.TrimSpace(answer)
	switch {
	case len(answer) == 0:
		return errors.New("it is empty; a hook answers with a JSON object")
	case string(answer) == "null":
		return nil
	case answer[0] != '{':
		return fmt.Errorf("it must be a JSON object, but it starts with %s", r.quoteText(answer))
	}
	var wrong error
	seen := sets.New[string]()
	err := object.Members(answer, func(name string, value []byte) error {
		if seen.Has(name) {
			r.strict.duplicateField(name)
		}
		seen.Insert(name)
		read, known := fields[name]
		if !known {
			r.strict.unknownField(name)
			return nil
		}
		if err := read(value); err != nil {
			wrong = fmt.Errorf("field %q: %w", name, err)
		}
		return wrong
	})
	if wrong != nil {
		return wrong
	}
	return r.redacted(err)
}

// redacted returns the error, without what it may quote of an answer that is not shown.
func (r *reader) redacted(err error) error {
	if !r.secret || err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return err
	}
	if wrong, ok := errors.AsType[*object.FieldError](err); ok {
		return errors.New(wrong.Problem())
	}
	return errors.New(notShown)
}

// quote is a value as errors show it.
func (r *reader) quote(value []byte) string {
	if r.secret {
		return notShown
	}
	return beginning(value)
}

// quoteText is what may be no JSON as errors show it.
func (r *reader) quoteText(text []byte) string {
	if r.secret {
		return notShown
	}
	return fmt.Sprintf("%q", beginning(text))
}

// beginning is enough of a text to recognise it by, on one line.
func beginning(text []byte) string {
	const most = 120
	line := strings.Join(strings.Fields(string(text[:min(len(text), 2*most)])), " ")
	if len(line) <= most && len(text) <= 2*most {
		return line
	}
	return strings.ToValidUTF8(line[:min(len(line), most)], "") + "…"
}
