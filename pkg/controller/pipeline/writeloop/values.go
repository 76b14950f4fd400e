// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// alternating returns the two values of the field that a step sets, as JSON: the one that the object has
// and the one that the hook wants. Both are empty if one of them is no number and no boolean, and for
// Secrets. Texts may be confidential in any kind, and the status of a cluster-scoped controller is read by
// people who may not read the object.
func alternating(step *pipeline.Step) (has, wants string) {
	if step.Path == "" || step.Observed == nil || step.Type.Kind == "Secret" {
		return "", ""
	}
	has, wants = shownAt(step.Observed.JSON(), step.Path), shownAt(step.Body, step.Path)
	if has == "" || wants == "" {
		return "", ""
	}
	return has, wants
}

// shownAt returns the number or boolean at a path as a plan names it; empty if there is none.
func shownAt(raw []byte, path string) string {
	value := jsontext.Value(valueAt(raw, path))
	switch value.Kind() {
	case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
		return string(value)
	}
	return ""
}

// valueAt returns the value at a path such as spec.items[0].a or metadata.labels[a]; nil if there is none.
// A name may have dots in it.
func valueAt(raw []byte, path string) []byte {
	if raw == nil || path == "" {
		return raw
	}
	if rest, indexed := strings.CutPrefix(path, "["); indexed {
		inner, below, _ := strings.Cut(rest, "]")
		below = strings.TrimPrefix(below, ".")
		if index, err := strconv.Atoi(inner); err == nil && strings.HasPrefix(string(raw), "[") {
			return valueAt(element(raw, index), below)
		}
		return valueAt(object.Lookup(raw, inner), below)
	}
	if value := object.Lookup(raw, path); value != nil {
		return value
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return nil
	}
	return valueAt(object.Lookup(raw, path[:end]), strings.TrimPrefix(path[end:], "."))
}

// element returns an item of a list; nil if the list is shorter.
func element(list []byte, at int) (found []byte) {
	_ = object.Elements(list, func(index int, item []byte) error {
		if index == at {
			found = item
		}
		return nil
	})
	return found
}
