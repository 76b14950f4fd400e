// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Lookup returns the raw JSON at the path, or nil if a part of the path is missing.
func (o *Object) Lookup(path ...string) []byte { return Lookup(o.JSON(), path...) }

// Lookup returns the raw JSON at the path below raw, or nil if a part of the path is missing or raw is not a
// JSON object. The last one of repeated names counts.
func Lookup(raw []byte, path ...string) []byte {
	for _, name := range path {
		raw = lookupMember(raw, name)
		if raw == nil {
			return nil
		}
	}
	return raw
}

func lookupMember(raw []byte, name string) []byte {
	var found []byte
	s := newScanner(raw)
	err := s.members("", func(m member) error {
		if string(m.name) != name {
			return s.skip()
		}
		var err error
		found, err = s.value()
		return err
	})
	if err != nil {
		return nil
	}
	return found
}

// Elements calls visit with the raw JSON of each element of a JSON list. A null counts as an empty
// list.
func Elements(raw []byte, visit func(index int, element []byte) error) error {
	s := newScanner(raw)
	return s.elements(func(index int) error {
		element, err := s.value()
		if err != nil {
			return err
		}
		return visit(index, element)
	})
}

// Members calls visit with the name and the raw JSON of each member of a JSON object, in order. A
// name may occur more than once.
func Members(raw []byte, visit func(name string, value []byte) error) error {
	s := newScanner(raw)
	err := s.members("", func(m member) error {
		value, err := s.value()
		if err != nil {
			return err
		}
		return visit(string(m.name), value)
	})
	if err != nil {
		return err
	}
	return s.end()
}

// WithMember returns the JSON object raw with one member set, or without it if value is nil.
func WithMember(raw []byte, name string, value []byte) ([]byte, error) {
	result := make([]byte, 0, len(raw)+len(name)+len(value)+4)
	result = append(result, '{')
	err := Members(raw, func(other string, kept []byte) error {
		if other == name {
			return nil
		}
		var err error
		result, err = appendMember(result, other, kept)
		return err
	})
	if err != nil {
		return nil, err
	}
	if value != nil {
		if result, err = appendMember(result, name, value); err != nil {
			return nil, err
		}
	}
	return append(result, '}'), nil
}

func appendMember(result []byte, name string, value []byte) ([]byte, error) {
	if len(result) > 1 {
		result = append(result, ',')
	}
	result, err := jsontext.AppendQuote(result, name)
	result = append(result, ':')
	return append(result, value...), err
}

// Walk reads a JSON value from the top down. T is what the caller knows about a value; top is what it knows about raw.
// Walk calls member for each member of an object, and element once for each list: they return what is known about the
// member's value or the list's elements, and whether Walk also reads them. path returns the path of the member, such as
// "spec.containers[0].image". The name is valid only during the call.
func Walk[T any](
	raw []byte, top T,
	member func(of T, name []byte, path func() string) (value T, read bool),
	element func(of T) (value T, read bool),
) error {
	w := walker[T]{scanner: newScanner(raw), member: member, element: element}
	w.path = w.scanner.path
	return w.value(top)
}

type walker[T any] struct {
	*scanner
	member  func(of T, name []byte, path func() string) (T, bool)
	element func(of T) (T, bool)
	path    func() string
}

func (w *walker[T]) value(of T) error {
	switch w.dec.PeekKind() {
	case '{':
		return w.members("", func(m member) error {
			if below, read := w.member(of, m.name, w.path); read {
				return w.value(below)
			}
			return w.skip()
		})
	case '[':
		below, read := w.element(of)
		if !read {
			return w.skip()
		}
		return w.elements(func(int) error { return w.value(below) })
	default:
		return w.skip()
	}
}

// path returns the path of the name or value that was read last.
func (s *scanner) path() string {
	var path strings.Builder
	level := 0
	for token := range s.dec.StackPointer().Tokens() {
		level++
		kind, _ := s.dec.StackIndex(level)
		switch {
		case kind == jsontext.KindBeginArray:
			path.WriteString("[" + token + "]")
		case path.Len() > 0:
			path.WriteString("." + token)
		default:
			path.WriteString(token)
		}
	}
	return path.String()
}
