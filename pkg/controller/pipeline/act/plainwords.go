// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// plainError is an error of the host whose text has no words of Go and of API servers. The author of a hook reads it.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }

func (e *plainError) Unwrap() error { return e.err }

// inPlainWords returns the error of a write in plain words. API servers use the words of Go where a
// value has the wrong type or a field does not exist. inPlainWords replaces these words and keeps the
// rest. The body is what was written; the schema may be nil.
func inPlainWords(err error, body []byte, schema *openapi.Type) error {
	before := err.Error()
	text := wrappings.ReplaceAllString(before, "")
	text = wrongField.ReplaceAllStringFunc(text, func(found string) string { return sayWrongField(found, body) })
	text = wrongValue.ReplaceAllStringFunc(text, func(found string) string {
		parts := wrongValue.FindStringSubmatch(found)
		return "one of its values " + mustBe(wordOfGoType(parts[2]), wordOfKind(parts[1]))
	})
	text = sayMismatches(notWhole.ReplaceAllString(text, "one of its numbers must be a whole number"), body, schema)
	if text == before {
		return err
	}
	return &plainError{text: text, err: err}
}

var (
	// wrappings are what API servers put before the errors below.
	wrappings = regexp.MustCompile(`failed to create typed patch object \([^)]*\): ` +
		`|failed to convert new object \([^)]*\) to proper version: (?:unable to convert unstructured object to [^:]*: )?(?:error decoding from json: )?`)
	// wrongField is what the decoder of JSON says of a field. It names the Go type that has the field,
	// and the path of the field without the indices and the keys of maps.
	wrongField = regexp.MustCompile(`(?:\S+ in version "[^"]*" cannot be handled as an? \S+: )?` +
		`json: cannot unmarshal (string|number|bool|object|array)(?: \S+)? into Go struct field [^\s.]+\.(\S+) of type (\S+)`)
	wrongValue = regexp.MustCompile(`json: cannot unmarshal (string|number|bool|object|array)(?: \S+)? into Go value of type (\S+)`)
	notWhole   = regexp.MustCompile(`cannot convert float64 to u?int\d+`)
	// undeclared is what server-side apply says of a field that the type does not have.
	undeclared = regexp.MustCompile(`(^|: )\.([^\n]+): field not declared in schema$`)
	// mismatch is what server-side apply says of a field, and all behind that, which is its value.
	mismatch = regexp.MustCompile(`(?s)(^|: )\.([^\n]+): expected (string|list|map|boolean|numeric \(int or float\)), got (.*)$`)
)

func sayWrongField(found string, body []byte) string {
	parts := wrongField.FindStringSubmatch(found)
	kind, expected := parts[1], wordOfGoType(parts[3])
	var path []string
	for _, name := range strings.Split(parts[2], ".") {
		if first := name[:min(len(name), 1)]; first == strings.ToLower(first) { // the others are embedded Go types
			path = append(path, name)
		}
	}
	var content any
	if err := utiljson.Unmarshal(body, &content); err == nil {
		if exactly, found := locate(content, path, kind, expected); found {
			return exactly + " " + mustBe(expected, wordOfKind(kind))
		}
	}
	return "a value in " + strings.Join(path, ".") + " " + mustBe(expected, wordOfKind(kind))
}

// sayMismatches replaces what server-side apply says of fields. The values are left out: they may be
// long, and secret.
func sayMismatches(text string, body []byte, schema *openapi.Type) string {
	const separator = "\n  ."
	parts := strings.Split(text, separator)
	changed := false
	for i, part := range parts {
		if i > 0 {
			part = "." + part
		}
		if found := undeclared.FindStringSubmatch(part); found != nil {
			parts[i] = strings.TrimSuffix(part, found[0]) + found[1] + sayUnknown(withIndexes(found[2], body), schema)
			changed = true
			continue
		}
		found := mismatch.FindStringSubmatchIndex(part)
		if found == nil {
			parts[i] = part
			continue
		}
		group := func(n int) string { return part[found[2*n]:found[2*n+1]] }
		expected := map[string]string{"string": aString, "list": aList, "map": anObject, "boolean": aBoolean}[group(3)]
		if expected == "" {
			expected = aNumber
		}
		parts[i] = part[:found[0]] + group(1) + withIndexes(group(2), body) + " " + mustBe(expected, wordOfPrinted(group(4)))
		changed = true
	}
	if !changed {
		return text
	}
	if parts[0] = strings.TrimSuffix(parts[0], "errors:"); parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, "; ")
}

// sayUnknown says that the host does not know a field, and which was probably meant.
func sayUnknown(path string, schema *openapi.Type) string {
	text := "the cluster does not know the field " + path
	if meant := schema.Meant(path); meant != "" {
		text += fmt.Sprintf(" (did you mean %s?)", meant)
	}
	return text
}

// The words for the types of values in JSON.
const (
	aString      = "a string"
	aNumber      = "a number"
	aWholeNumber = "a whole number"
	aBoolean     = "a boolean"
	aList        = "a list"
	anObject     = "an object"
)

// mustBe says what a value must be. What it is may be unknown, and then is empty.
func mustBe(expected, found string) string {
	text := "must be " + expected
	if found != "" && found != expected {
		text += ", not " + found
	}
	switch {
	case expected == aWholeNumber && found == aNumber:
		return "must be a whole number"
	case expected == aString && (found == aNumber || found == aBoolean):
		return text + " (write it in quotes)"
	case found == aString && (expected == aNumber || expected == aWholeNumber || expected == aBoolean):
		return text + " (write it without quotes)"
	}
	return text
}

// wordOfKind returns the word for a type of JSON as Go calls it.
func wordOfKind(kind string) string {
	return map[string]string{"string": aString, "number": aNumber, "bool": aBoolean, "object": anObject, "array": aList}[kind]
}

// wordOfGoType returns the word for what is decoded into a Go type.
func wordOfGoType(name string) string {
	name = strings.TrimLeft(name, "*")
	switch {
	case name == "string":
		return aString
	case name == "bool":
		return aBoolean
	case strings.HasPrefix(name, "int") && !strings.Contains(name, "."), strings.HasPrefix(name, "uint"):
		return aWholeNumber
	case strings.HasPrefix(name, "float"):
		return aNumber
	case strings.HasPrefix(name, "["):
		return aList
	default:
		return anObject
	}
}

// wordOfPrinted returns the word for a value as server-side apply prints it; empty if that does not
// tell.
func wordOfPrinted(value string) string {
	if word := wordOfKind(value); word != "" {
		return word
	}
	if inner, ok := strings.CutPrefix(value, "&value.valueUnstructured{Value:"); ok {
		switch {
		case strings.HasPrefix(inner, "map["):
			return anObject
		case strings.HasPrefix(inner, "[]"):
			return aList
		case strings.HasPrefix(inner, "true"), strings.HasPrefix(inner, "false"):
			return aBoolean
		case strings.HasPrefix(inner, `"`):
			return aString
		case inner != "" && strings.ContainsRune("-0123456789", rune(inner[0])):
			return aNumber
		}
		return ""
	}
	switch {
	case strings.HasPrefix(value, "&{map["):
		return anObject
	case strings.HasPrefix(value, "&{["):
		return aList
	}
	return ""
}

// locate returns the path of the first value of a kind at a path that has no indices and no keys of
// maps.
func locate(value any, path []string, kind, expected string) (exactly string, found bool) {
	switch typed := value.(type) {
	case []any:
		for i, item := range typed {
			if below, found := locate(item, path, kind, expected); found {
				return joinPath(fmt.Sprintf("[%d]", i), below), true
			}
		}
	case map[string]any:
		if len(path) > 0 {
			below, found := locate(typed[path[0]], path[1:], kind, expected)
			return joinPath(path[0], below), found
		}
		for _, name := range slices.Sorted(maps.Keys(typed)) {
			if isOfKind(typed[name], kind, expected) {
				return name, true
			}
		}
	}
	return "", len(path) == 0 && isOfKind(value, kind, expected)
}

func joinPath(first, rest string) string {
	if rest == "" || strings.HasPrefix(rest, "[") {
		return first + rest
	}
	return first + "." + rest
}

// isOfKind reports whether a value has a type of JSON as Go calls it, and is not what is expected.
func isOfKind(value any, kind, expected string) bool {
	switch value.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "bool"
	case int64:
		return kind == "number" && expected != aWholeNumber
	case float64:
		return kind == "number"
	case map[string]any:
		return kind == "object"
	case []any:
		return kind == "array"
	}
	return false
}
