// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// UnmarshalMode returns the mode in which the answers of a hook are read.
func UnmarshalMode(hook *v1alpha1.Hook) v1alpha1.ResponseUnmarshallMode {
	switch mode := hook.Webhook.ResponseUnmarshallMode; {
	case mode != nil && *mode != "":
		return *mode
	case hook.GetVersion() == v1alpha1.HookVersionV2:
		return v1alpha1.ResponseUnmarshallModeStrict
	default:
		return v1alpha1.ResponseUnmarshallModeLoose
	}
}

// strictErrors are unknown and duplicate fields of an answer, and events that cannot be told. The strict mode refuses them, the
// loose mode ignores them.
type strictErrors struct {
	errors []error
	// more is how many are not in errors.
	more int
}

// maxStrictErrors is how many strict errors of an answer are kept. Users see a few of them.
const maxStrictErrors = 20

func (e *strictErrors) isFull() bool { return len(e.errors) >= maxStrictErrors }

func (e *strictErrors) add(err error) {
	if e.isFull() {
		e.more++
		return
	}
	e.errors = append(e.errors, err)
}

// all returns the errors. The last one counts those that were not kept.
func (e *strictErrors) all() []error {
	if e.more == 0 {
		return e.errors
	}
	return append(slices.Clone(e.errors), fmt.Errorf("and %d more", e.more))
}

func (e *strictErrors) duplicateField(field string) { e.add(fmt.Errorf("duplicate field %q", field)) }

// maxSearchedBytes is how long a value may be whose duplicate fields are named: for that, all of it is decoded.
const maxSearchedBytes = 1 << 20

// findDuplicates adds the fields that are twice in one object, at any depth of the value at a path.
func (e *strictErrors) findDuplicates(path string, value []byte) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowInvalidUTF8(true))
	if err := decoder.SkipValue(); !errors.Is(err, jsontext.ErrDuplicateName) {
		return
	}
	if len(value) > maxSearchedBytes {
		e.add(fmt.Errorf("duplicate field in %q", path))
		return
	}
	var content any // decoded only to find the paths of the duplicates
	if found, err := json.UnmarshalStrict(value, &content, json.DisallowDuplicateFields); err == nil {
		e.addIn(path, found)
	}
}

// addIn adds the errors that were found in the value at a path.
func (e *strictErrors) addIn(path string, found []error) {
	for _, err := range found {
		if field, ok := errors.AsType[json.FieldError](err); ok {
			field.SetFieldPath(path + "." + field.FieldPath())
		}
		e.add(err)
	}
}

// addInRule adds the errors that were found in the rule of a customize hook at a path.
func (d *Decoder) addInRule(path string, found []error) {
	for _, err := range found {
		field, ok := errors.AsType[json.FieldError](err)
		if !ok || !strings.HasPrefix(err.Error(), "unknown field") {
			d.strictErrors.addIn(path, []error{err})
			continue
		}
		within := field.FieldPath()
		name := within[strings.LastIndex(within, ".")+1:]
		d.addUnknownField(path+"."+within, meantBy(name, fieldsBeside(within)), nil)
	}
}

// addUnknownField adds a field that the protocol does not have. Its name may be secret: redactPaths must follow.
func (d *Decoder) addUnknownField(path, meant string, wraps []string) {
	d.strictErrors.add(&UnknownField{Path: path, Meant: meant, Wraps: wraps})
}

// redactPaths makes the paths of unknown fields such that they may be shown.
func redactPaths(redactor *redact.Redactor, unknown []*UnknownField) {
	paths := make([]string, len(unknown))
	for i, field := range unknown {
		paths[i] = field.Path
	}
	for i, path := range redactor.Each(paths) {
		unknown[i].Path = excerpt(path)
	}
}

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
