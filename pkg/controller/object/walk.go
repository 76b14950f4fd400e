// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Walk reads a JSON value from the top down. T is what the caller knows of a value; top is that of raw.
// Walk calls member for each member of an object, and element once for each list: they return what is
// known of the member's value or of the list's elements, and whether Walk reads them too. path returns
// where the member is, such as "spec.containers[0].image". The name is valid during the call.
func Walk[T any](raw []byte, top T, member func(of T, name []byte, path func() string) (value T, read bool), element func(of T) (value T, read bool)) error {
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

// path returns where the name or value is that was read last.
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
