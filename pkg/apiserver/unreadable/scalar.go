// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scalar returns why a value cannot be read into a string, number or boolean. It returns "" if it
// can.
func scalar(path *field.Path, of reflect.Type, value any) string {
	text, isText := value.(string)
	switch kind := of.Kind(); {
	case kind == reflect.String:
		return notString(path, value)
	case kind == reflect.Bool:
		if _, ok := value.(bool); ok {
			return ""
		}
		if _, err := strconv.ParseBool(text); err == nil && isText {
			return wrongType("true or false", value) + "; write it without quotation marks"
		}
		return wrongType("true or false", value)
	case of.Kind() >= reflect.Int && of.Kind() <= reflect.Int64:
		if number, ok := value.(int64); ok && !reflect.Zero(of).OverflowInt(number) {
			return ""
		}
		if _, err := strconv.ParseInt(text, 10, of.Bits()); err == nil && isText {
			return wrongType("an integer", value) + "; write it without quotation marks"
		}
		return wrongType(fmt.Sprintf("an integer of %d bits", of.Bits()), value)
	}
	return ""
}

// notString returns why a value is no string, "" if it is one.
func notString(path *field.Path, value any) string {
	switch value := value.(type) {
	case string:
		return ""
	case bool:
		quoted := strconv.FormatBool(value)
		if strings.HasSuffix(path.String(), ".status") { // of a condition
			quoted = strings.ToUpper(quoted[:1]) + quoted[1:]
		}
		return fmt.Sprintf("%s; in YAML, write %q with the quotation marks", wrongType("a string", value), quoted)
	case int64, float64:
		return fmt.Sprintf("%s; write \"%v\" with the quotation marks", wrongType("a string", value), value)
	}
	return wrongType("a string", value)
}

func wrongType(wanted string, value any) string {
	text := fmt.Sprintf("must be %s, and is %s", wanted, named(value))
	if _, isObject := value.(map[string]any); isObject && wanted == "a list" {
		text += "; in YAML, each item begins with a dash"
	}
	return text
}

// named says what a decoded value is.
func named(value any) string {
	const most = 60
	switch value := value.(type) {
	case string:
		if len(value) > most {
			value = strings.ToValidUTF8(value[:most], "") + "…"
		}
		return fmt.Sprintf("the string %q", value)
	case bool:
		return fmt.Sprintf("the boolean %t", value)
	case int64, float64:
		return fmt.Sprintf("the number %v", value)
	case []any:
		return "a list"
	}
	return "an object"
}
