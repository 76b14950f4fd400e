// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// scanner reads JSON token by token and tracks its position in the input.
type scanner struct {
	raw   []byte
	input bytes.Buffer
	dec   jsontext.Decoder
}

func newScanner(raw []byte) *scanner {
	s := &scanner{}
	s.reset(raw)
	return s
}

func (s *scanner) reset(raw []byte) {
	s.raw, s.input = raw, *bytes.NewBuffer(raw)
	s.dec.Reset(&s.input, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// member is one name of a JSON object. It may be a part of the input. start is the position of the quoted name.
type member struct {
	name  []byte
	start int
}

// members calls visit with each member of the next object; visit must read the member's value. A null
// counts as an empty object, except at the top, where path is empty.
func (s *scanner) members(path string, visit func(member) error) error {
	if isNull, err := s.open(path, '{', "an object"); isNull || err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		quoted, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		name, err := unquote(quoted)
		if err != nil {
			return err
		}
		if err := visit(member{name, s.offset() - len(quoted)}); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// elements calls visit for each element of the next list; visit must read it. A null counts as an
// empty list.
func (s *scanner) elements(visit func(index int) error) error {
	if isNull, err := s.open("list", '[', "a list"); isNull || err != nil {
		return err
	}
	for index := 0; s.dec.PeekKind() != ']'; index++ {
		if err := visit(index); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// unquote returns the text between quotes. It is a part of quoted unless that has escapes or
// characters beyond ASCII.
func unquote(quoted []byte) ([]byte, error) {
	text := quoted[1 : len(quoted)-1]
	if slices.ContainsFunc(text, func(c byte) bool { return c == '\\' || c >= utf8.RuneSelf }) {
		return jsontext.AppendUnquote(nil, quoted)
	}
	return text, nil
}

// open reads the delimiter that starts an object or a list, or a null unless path is empty.
func (s *scanner) open(path string, want jsontext.Kind, wanted string) (isNull bool, err error) {
	kind := s.dec.PeekKind()
	if kind == 'n' && path != "" {
		return true, s.skip()
	}
	if kind != want {
		return false, s.wrongKind(path, wanted)
	}
	_, err = s.dec.ReadToken()
	return false, err
}

func (s *scanner) string(path string) (string, error) {
	token, isNull, err := s.token(path, '"', "a string")
	if isNull || err != nil {
		return "", err
	}
	return token.String(), nil
}

func (s *scanner) int(path string) (int64, error) {
	token, isNull, err := s.token(path, '0', "a number")
	if isNull || err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(token.String(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not an integer", path, token)
	}
	return number, nil
}

func (s *scanner) token(path string, want jsontext.Kind, wanted string) (token jsontext.Token, isNull bool, err error) {
	switch kind := s.dec.PeekKind(); kind {
	case 'n':
		return token, true, s.skip()
	case want:
		token, err = s.dec.ReadToken()
		return token, false, err
	default:
		return token, false, s.wrongKind(path, wanted)
	}
}

// stringMap reads a map of strings, without those whose names leaveOut selects.
func (s *scanner) stringMap(path string, leaveOut func(name string) bool) (map[string]string, error) {
	var read map[string]string
	err := s.members(path, func(m member) error {
		name := string(m.name)
		if leaveOut(name) {
			return s.skip()
		}
		if kind := s.dec.PeekKind(); kind != '"' && kind != 'n' {
			return s.wrongKind(path+"["+name+"]", "a string")
		}
		value, err := s.string(path)
		if err != nil {
			return err
		}
		if read == nil {
			read = map[string]string{}
		}
		read[name] = value
		return nil
	})
	return read, err
}

// value reads the entire next value. It is a part of the input.
func (s *scanner) value() ([]byte, error) {
	value, err := s.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := s.offset()
	return s.raw[end-len(value) : end], nil
}

func (s *scanner) skip() error { return s.dec.SkipValue() }

func (s *scanner) offset() int { return int(s.dec.InputOffset()) }

// end returns an error if anything but white space is left.
func (s *scanner) end() error {
	if rest := bytes.TrimSpace(s.raw[s.offset():]); len(rest) > 0 {
		return fmt.Errorf("%q follows the end of the object", excerpt(rest))
	}
	return nil
}

// wrongKind returns the error for a value that is not of the wanted kind. Invalid JSON has its own error.
func (s *scanner) wrongKind(path, wanted string) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	return &FieldError{path: path, wanted: wanted, found: excerpt(value)}
}

// FieldError is the error for a field of an object that has the wrong type. The path is empty for the object itself.
type FieldError struct{ path, wanted, found string }

func (e *FieldError) Error() string { return e.Problem() + ", found " + e.found }

// Problem says what is wrong, without the value of the field.
func (e *FieldError) Problem() string {
	if e.path == "" {
		return "expected " + e.wanted
	}
	return e.path + ": expected " + e.wanted
}

// excerpt returns the beginning of a value, enough to recognize it.
func excerpt(value []byte) string {
	const most = 40
	return text.Shorten(string(value[:min(len(value), most+1)]), most)
}
