// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// Mistake is a field that cannot be read.
type Mistake struct {
	// Field is the path of the field.
	Field string
	// Message says what is wrong with it.
	Message string
}

func (m Mistake) String() string { return m.Field + ": " + m.Message }

// reader compares decoded JSON with Go types.
type reader struct {
	// unknownFields is true if fields that the types do not have are mistakes.
	unknownFields bool
	mistakes      []Mistake
}

// maxMistakes is how many mistakes are looked for. A body may be full of them.
const maxMistakes = 100

// isDone reports whether enough mistakes were found.
func (r *reader) isDone() bool { return len(r.mistakes) >= maxMistakes }

func (r *reader) add(path *field.Path, format string, args ...any) {
	if r.isDone() {
		return
	}
	r.mistakes = append(r.mistakes, Mistake{Field: path.String(), Message: fmt.Sprintf(format, args...)})
}

// read compares a value with the type that it is to be read into.
func (r *reader) read(path *field.Path, of reflect.Type, value any) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if value == nil || of.Kind() == reflect.Interface || r.isDone() {
		return
	}
	if readsItself(of) {
		r.readItself(path, of, value)
		return
	}
	switch of.Kind() {
	case reflect.Struct:
		r.readStruct(path, of, value)
	case reflect.Map:
		members, ok := value.(map[string]any)
		if !ok {
			r.add(path, "%s", wrongType("an object", value))
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			r.read(path.Key(name), of.Elem(), members[name])
		}
	case reflect.Slice:
		items, ok := value.([]any)
		if !ok {
			r.add(path, "%s", wrongType("a list", value))
		}
		for i, item := range items {
			r.read(path.Index(i), of.Elem(), item)
		}
	default:
		if why := scalar(path, of, value); why != "" {
			r.add(path, "%s", why)
		}
	}
}

// readsItself reports whether a type reads JSON by itself.
func readsItself(of reflect.Type) bool {
	return reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// readItself compares a value with a type that reads JSON by itself.
func (r *reader) readItself(path *field.Path, of reflect.Type, value any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(of).Interface())
	}
	if err != nil {
		r.add(path, "%s cannot be read here: %v", named(value), err)
	}
}

func (r *reader) readStruct(path *field.Path, of reflect.Type, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		r.add(path, "%s", wrongType("an object", value))
		return
	}
	fields := fieldsOf(of)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		known, ok := fields[name]
		switch {
		case ok:
			r.read(path.Child(name), known, members[name])
		case r.unknownFields && !strings.HasPrefix(name, "$"): // directives of strategic merge patches
			r.unknown(path, name, fields)
		}
	}
}

// unknown adds the mistake that an object has a field which its type lacks.
func (r *reader) unknown(path *field.Path, name string, fields map[string]reflect.Type) {
	if r.isDone() {
		return
	}
	hint := ""
	if meant := nearest.To(name, slices.Collect(maps.Keys(fields))); meant != "" {
		hint = fmt.Sprintf("; did you mean %q?", meant)
	}
	r.add(path.Child(name), "unknown field%s", hint)
}

// fieldsOf returns the types of the fields of a struct by their names in JSON.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for member := range of.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && (member.Anonymous || strings.Contains(options, "inline")):
			maps.Copy(fields, fieldsOf(member.Type))
		case name != "":
			fields[name] = member.Type
		}
	}
	return fields
}
