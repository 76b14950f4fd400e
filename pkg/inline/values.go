// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/lazy"
)

// adapter converts decoded JSON, and values that expressions construct, to CEL values. Its maps are iterated in the
// order of their keys so that the same request always has the same answer.
type adapter struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case map[string]any:
		return ordered(types.NewStringInterfaceMap(a, value))
	case []any:
		return types.NewDynamicList(a, value)
	}
	return a.Adapter.NativeToValue(value)
}

// orderedMap is a map that is iterated in the order of its keys.
type orderedMap struct {
	traits.Mapper
	keys func() []ref.Val
}

func ordered(m traits.Mapper) orderedMap {
	return orderedMap{m, sync.OnceValue(func() []ref.Val { return sortedKeys(m) })}
}

// Iterator implements traits.Iterable.
func (m orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys()).Iterator()
}

// orderedMutable is the map in which a macro collects its result.
type orderedMutable struct{ traits.MutableMapper }

// ToImmutableMap implements traits.MutableMapper.
func (m orderedMutable) ToImmutableMap() traits.Mapper {
	return ordered(m.MutableMapper.ToImmutableMap())
}

// sortedKeys returns the keys of a map in order: numbers by their value, all others by their text.
func sortedKeys(m traits.Mapper) []ref.Val {
	var keys []ref.Val
	for i := m.Iterator(); i.HasNext() == types.True; {
		keys = append(keys, i.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int {
		if comparer, ok := a.(traits.Comparer); ok {
			if order, ok := comparer.Compare(b).(types.Int); ok {
				return int(order)
			}
		}
		return strings.Compare(fmt.Sprint(a.Value()), fmt.Sprint(b.Value()))
	})
	return keys
}

// errTooLarge is the error of an answer that is larger than answers may be.
var errTooLarge = errors.New("the answer is too large")

// writer appends JSON, up to a limit of bytes.
type writer struct {
	body  []byte
	limit int64
}

func (w *writer) raw(text string) error {
	if err := w.fits(text); err != nil {
		return err
	}
	w.body = append(w.body, text...)
	return nil
}

func (w *writer) fits(text string) error {
	if int64(len(w.body)+len(text)) > w.limit {
		return fmt.Errorf("%w: an answer may have at most %d bytes", errTooLarge, w.limit)
	}
	return nil
}

// quoted appends a string. Invalid UTF-8 is replaced.
func (w *writer) quoted(text string) error {
	if err := w.fits(text); err != nil {
		return err
	}
	w.body, _ = jsontext.AppendQuote(w.body, text)
	return nil
}

// value appends a value of CEL. It reports whether the value is present: the value of an absent optional is not.
func (w *writer) value(value ref.Val) (present bool, err error) {
	switch value := value.(type) {
	case *types.Optional:
		if !value.HasValue() {
			return false, nil
		}
		return w.value(value.GetValue())
	case *lazy.MapValue:
		return false, errors.New("is the map of all variables; name one of them")
	case traits.Mapper:
		return true, w.mapping(value)
	case traits.Lister:
		return true, w.list(value)
	case types.String:
		return true, w.quoted(string(value))
	case types.Bytes:
		return true, w.quoted(base64.StdEncoding.EncodeToString(value))
	case types.Double:
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			return false, fmt.Errorf("is %v, which JSON cannot represent", float64(value))
		}
		raw, err := json.Marshal(float64(value))
		if err != nil {
			return false, err
		}
		return true, w.raw(string(raw))
	}
	text, err := textOf(value)
	if err != nil {
		return false, err
	}
	switch value.(type) {
	case types.Bool, types.Int, types.Uint, types.Null:
		return true, w.raw(text)
	}
	return true, w.quoted(text)
}

func (w *writer) mapping(of traits.Mapper) error {
	if err := w.raw("{"); err != nil {
		return err
	}
	first := true
	for keys := of.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		name, ok := key.(types.String)
		if !ok {
			return fmt.Errorf("has the key %v, and the keys of JSON objects are strings", key.Value())
		}
		err := w.member(&first, string(name), func() (bool, error) { return w.value(of.Get(key)) })
		if err != nil {
			return err
		}
	}
	return w.raw("}")
}

// member appends a member of an object, whose value a func appends. It takes back what it has appended if there is no
// value. first is true before the first member.
func (w *writer) member(first *bool, name string, value func() (bool, error)) error {
	return w.item(first, func() (bool, error) {
		if err := w.quoted(name); err != nil {
			return false, err
		}
		w.body = append(w.body, ':')
		return value()
	})
}

// item appends an item of a list, like member.
func (w *writer) item(first *bool, value func() (bool, error)) error {
	before := len(w.body)
	if !*first {
		w.body = append(w.body, ',')
	}
	present, err := value()
	if present {
		*first = false
	} else {
		w.body = w.body[:before]
	}
	return err
}

func (w *writer) list(of traits.Lister) error {
	if err := w.raw("["); err != nil {
		return err
	}
	first := true
	for i := of.Iterator(); i.HasNext() == types.True; {
		value := i.Next()
		if err := w.item(&first, func() (bool, error) { return w.value(value) }); err != nil {
			return err
		}
	}
	return w.raw("]")
}

// textOf returns a value as it is within a text.
func textOf(value ref.Val) (string, error) {
	switch value := value.(type) {
	case types.Null:
		return "null", nil
	case *types.Err:
		return "", value
	}
	if text, ok := value.ConvertToType(types.StringType).(types.String); ok {
		return string(text), nil
	}
	if text, ok := value.Value().(fmt.Stringer); ok { // a quantity, a URL, a version
		return text.String(), nil
	}
	return "", fmt.Errorf("is of type %s, which is neither JSON nor text", value.Type().TypeName())
}
