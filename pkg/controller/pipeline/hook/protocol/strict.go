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
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
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

// strictErrors are unknown and duplicate fields of an answer, and invalid events. The strict mode refuses them, the
// loose mode ignores them.
type strictErrors struct {
	errors []error
	// more counts those that are not in errors.
	more int
}

// maxStrictErrors limits how many strict errors of an answer are kept. Users see a few of them.
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

// maxSearchedBytes limits the size of a value whose duplicate fields are named, because that needs all of it decoded.
const maxSearchedBytes = 1 << 20

// findDuplicates adds the duplicate fields of objects at any depth of the value at a path.
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

// addIn adds errors that were found in the value at a path.
func (e *strictErrors) addIn(path string, found []error) {
	for _, err := range found {
		if field, ok := errors.AsType[json.FieldError](err); ok {
			field.SetFieldPath(path + "." + field.FieldPath())
		}
		e.add(err)
	}
}

// addInRule adds errors that were found in the rule at a path of a customize hook's answer.
func (e *strictErrors) addInRule(path string, found []error) {
	for _, err := range found {
		field, ok := errors.AsType[json.FieldError](err)
		if !ok || !strings.HasPrefix(err.Error(), "unknown field") {
			e.addIn(path, []error{err})
			continue
		}
		within := field.FieldPath()
		name := within[strings.LastIndex(within, ".")+1:]
		e.addUnknownField(path+"."+within, meantBy(name, fieldsBeside(within)), nil)
	}
}

// addUnknownField adds a field that the protocol does not have. Its name may be secret, so the caller calls
// redactPaths.
func (e *strictErrors) addUnknownField(path, meant string, wraps []string) {
	e.add(&UnknownField{Path: path, Meant: meant, Wraps: wraps})
}

// redactPaths redacts the paths of unknown fields.
func redactPaths(redactor *redact.Redactor, unknown []*UnknownField) {
	paths := make([]string, len(unknown))
	for i, field := range unknown {
		paths[i] = field.Path
	}
	for i, path := range redactor.Each(paths) {
		unknown[i].Path = excerpt(path)
	}
}

// UnknownField is a field of an answer that the protocol does not have. It is not read.
type UnknownField struct {
	// Path is the path of the field, such as "relatedResources[0].name". A long path is cut.
	Path string
	// Meant is the name of the field that was probably meant; empty if none is similar.
	Meant string
	// MeantIsAbsent is true if the answer does not have the field that was probably meant.
	MeantIsAbsent bool
	// Wraps are the fields of the protocol that are inside this one, if the answer has none at its top, where they belong.
	Wraps []string
}

func (u *UnknownField) Error() string {
	return fmt.Sprintf("unknown field %q (%s)", u.Path, u.Advice())
}

// Advice says what to do about the field.
func (u *UnknownField) Advice() string {
	switch {
	case len(u.Wraps) > 0:
		return strings.Join(u.Wraps, " and ") + " must be at the top level of the answer, not inside this field"
	case u.Meant != "":
		return fmt.Sprintf("did you mean %q?", u.Meant)
	default:
		return "leave it out"
	}
}

// meantBy returns the known field that an unknown one probably stands for; empty if none is similar.
func meantBy(unknown string, known []string) string {
	const (
		longestName = 40 // a longer one is not a misspelt name of the protocol
		telling     = 5  // this many letters identify a field
	)
	if len(unknown) > longestName {
		return ""
	}
	if found := nearest.To(unknown, known); found != "" {
		return found
	}
	unknown = strings.ToLower(unknown)
	if len(unknown) < telling {
		return ""
	}
	i := slices.IndexFunc(known, func(name string) bool {
		name = strings.ToLower(name)
		return strings.Contains(name, unknown) || strings.HasPrefix(name, unknown[:telling])
	})
	if i < 0 {
		return ""
	}
	return known[i]
}

// The fields of a rule of a customize hook's answer, of a selector in it, and of an expression in
// that.
var (
	ruleFields       = []string{"apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"}
	selectorFields   = []string{"matchLabels", "matchExpressions"}
	expressionFields = []string{"key", "operator", "values"}
)

// fieldsBeside returns the fields that the protocol has at the level of a path in a rule.
func fieldsBeside(path string) []string {
	switch {
	case strings.Contains(path, "matchExpressions["):
		return expressionFields
	case strings.Contains(path, "."):
		return selectorFields
	default:
		return ruleFields
	}
}
