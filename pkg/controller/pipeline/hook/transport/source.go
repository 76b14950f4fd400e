// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Sources gives access to the Secrets and ConfigMaps of the host.
type Sources interface {
	// Follow calls changed with the object of that name, or with nil if there is none: once before it returns, and again
	// after each change, one call at a time, until stop has returned. The error says why the object cannot be read.
	Follow(
		ctx context.Context, of object.Type, name types.NamespacedName, changed func(*object.Object),
	) (stop func(), err error)
}

// Source is one Secret or ConfigMap.
type Source struct {
	Type object.Type
	Name types.NamespacedName
}

func secret(namespace, name string) Source {
	return coreSource("secrets", "Secret", namespace, name)
}

func configMap(namespace, name string) Source {
	return coreSource("configmaps", "ConfigMap", namespace, name)
}

func coreSource(resource, kind, namespace, name string) Source {
	core := schema.GroupVersionResource{Version: "v1", Resource: resource}
	return Source{
		Type: object.Type{GroupVersionResource: core, Kind: kind, Namespaced: true},
		Name: types.NamespacedName{Namespace: namespace, Name: name},
	}
}

// SourceError says that a hook cannot be called because a Secret or ConfigMap is missing or unusable. A change of that
// object may help. The error never shows the content of the object.
type SourceError struct {
	Source
	// ResourceVersion is the resource version of the object; empty if it does not exist.
	ResourceVersion string
	// Field is the field of the spec that names the source.
	Field string
	Err   error
}

func (e *SourceError) Error() string {
	return fmt.Sprintf("%s: %s %s: %v", e.Field, e.Type.Kind, e.Name, e.Err)
}

func (e *SourceError) Unwrap() error { return e.Err }

// reference is a source that a setting refers to.
type reference struct {
	source Source
	field  string
	// object is nil if the source does not exist.
	object *object.Object
}

// finder returns a source, or nil if it does not exist.
type finder func(Source) (*object.Object, error)

// open reads the source that a field of the spec refers to.
func (find finder) open(field string, source Source) (*reference, error) {
	switch {
	case source.Name.Name == "":
		return nil, fmt.Errorf("%s.name must be the name of the %s", field, source.Type.Kind)
	case source.Name.Namespace == "":
		return nil, fmt.Errorf("%s.namespace must be the namespace of the %s", field, source.Type.Kind)
	}
	found, err := find(source)
	opened := &reference{source: source, field: field, object: found}
	if err != nil {
		return nil, opened.unusable(fmt.Errorf("it cannot be read: %w", err))
	}
	if found == nil {
		return nil, opened.unusable(errors.New("it does not exist"))
	}
	return opened, nil
}

// unusable returns the error that the source is unusable.
func (r *reference) unusable(err error) error {
	unusable := &SourceError{Source: r.source, Field: r.field, Err: err}
	if r.object != nil {
		unusable.ResourceVersion = r.object.ResourceVersion
	}
	return unusable
}

// value returns the value of a key.
func (r *reference) value(key string) (value []byte, err error) {
	plain, binary := r.object.Lookup("data", key), r.object.Lookup("binaryData", key)
	switch {
	case plain == nil && binary == nil:
		return nil, r.unusable(fmt.Errorf("it has no key %q%s", key, r.keys()))
	case plain == nil:
		err = json.Unmarshal(binary, &value)
	case r.source.Type.Kind == "Secret":
		err = json.Unmarshal(plain, &value)
	default:
		var text string
		err = json.Unmarshal(plain, &text)
		value = []byte(text)
	}
	if err != nil {
		return nil, r.unusable(fmt.Errorf("key %q cannot be decoded", key))
	}
	return value, nil
}

// maxKeys limits how many keys a message names.
const maxKeys = 5

// keys says which keys the source has instead; empty if it has none.
func (r *reference) keys() string {
	var names []string
	for _, field := range []string{"data", "binaryData"} {
		var values map[string]json.RawMessage
		if json.Unmarshal(r.object.Lookup(field), &values) == nil {
			names = slices.AppendSeq(names, maps.Keys(values))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	quoted := make([]string, min(len(names), maxKeys))
	for i := range quoted {
		quoted[i] = strconv.Quote(names[i])
	}
	text := "; it has the keys: " + strings.Join(quoted, ", ")
	if more := len(names) - maxKeys; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
