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
)

// scanner reads JSON token by token and knows where in the input it stands.
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

// member is one name of a JSON object, which may be a part of the input; start is where the
// quoted name begins.
type member struct {
	name  []byte
	start int
}

// members visits each member of the object that comes next; visit must read the
// member's value. A null counts as an empty object.
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

// elements visits each element of the list that comes next; visit must read it. A null counts
// as an empty list.
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

// unquote returns what a quoted text says. That is a part of it unless there are escapes or
// characters beyond ASCII in it.
func unquote(quoted []byte) ([]byte, error) {
	text := quoted[1 : len(quoted)-1]
	if slices.ContainsFunc(text, func(c byte) bool { return c == '\\' || c >= utf8.RuneSelf }) {
		return jsontext.AppendUnquote(nil, quoted)
	}
	return text, nil
}

// open reads the delimiter that starts an object or a list, or a null.
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
		return 0, fmt.Errorf("%s: %s is not a whole number", path, token)
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

// stringMap reads a map of strings, without those that leaveOut tells by their names.
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

// value reads the next value whole. It is a part of the input.
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

// end reports an error if anything but white space is left.
func (s *scanner) end() error {
	if rest := bytes.TrimSpace(s.raw[s.offset():]); len(rest) > 0 {
		return fmt.Errorf("%q follows the end of the object", cutShort(rest))
	}
	return nil
}

// wrongKind says what stands where something else was wanted. Broken JSON is
// reported as such.
func (s *scanner) wrongKind(path, wanted string) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	return &FieldError{path: path, wanted: wanted, found: string(cutShort(value))}
}

// FieldError tells that a field of an object, or with an empty path the object itself,
// is something else than it must be.
type FieldError struct{ path, wanted, found string }

func (e *FieldError) Error() string { return e.Problem() + ", found " + e.found }

// Problem says what is wrong without quoting what the field holds.
func (e *FieldError) Problem() string {
	if e.path == "" {
		return "expected " + e.wanted
	}
	return e.path + ": expected " + e.wanted
}

func cutShort(text []byte) []byte {
	const most = 40
	if len(text) <= most {
		return text
	}
	return append(append([]byte(nil), text[:most]...), "…"...)
}
