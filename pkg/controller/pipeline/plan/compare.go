// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// difference returns the path of the first field in which two JSON values differ, and whether they
// differ at all. A null equals a missing value, and numbers are equal if their values are.
func difference(a, b any) (path string, differ bool) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differenceOfObjects(a, b)
		}
		if b == nil {
			return firstField(a), true
		}
	case []any:
		if b, ok := b.([]any); ok {
			return differenceOfLists(a, b)
		}
	case nil:
		if b, ok := b.(map[string]any); ok {
			return firstField(b), true
		}
		return "", b != nil
	case int64, float64:
		return "", !sameNumber(a, b)
	default:
		return "", !isScalar(b) || a != b
	}
	return "", true
}

// differOnlyInMarks reports whether two forms of a child that differ first at path mean the same but for the marks by
// which the server finds children: the generated label and the annotation of attachments. A child keeps the marks of
// its former controller when another one takes it over, and must not be replaced because of them. The schema is the
// host's schema of the child; nil if there is none.
func differOnlyInMarks(schema *openapi.Type, path string, a, b map[string]any) bool {
	isMark := path == "metadata.labels."+object.GeneratedLabel ||
		path == "metadata.annotations."+object.DecoratorAnnotation
	return isMark && same(schema, withoutMarks(a), withoutMarks(b))
}

// withoutMarks returns content without the marks by which the server finds children.
func withoutMarks(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for field, mark := range map[string]string{
		"labels": object.GeneratedLabel, "annotations": object.DecoratorAnnotation,
	} {
		if of, ok := metadata[field].(map[string]any); ok {
			of = maps.Clone(of)
			if delete(of, mark); len(of) == 0 {
				delete(metadata, field)
			} else {
				metadata[field] = of
			}
		}
	}
	content = maps.Clone(content)
	content["metadata"] = metadata
	return content
}

// firstField returns the path of the first field of an object that has no counterpart.
func firstField(of map[string]any) string {
	if len(of) == 0 {
		return ""
	}
	name := slices.Min(slices.Collect(maps.Keys(of)))
	if below, ok := of[name].(map[string]any); ok {
		return join(name, firstField(below))
	}
	return name
}

func differenceOfObjects(a, b map[string]any) (string, bool) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if below, differ := difference(a[name], b[name]); differ {
			return join(name, below), true
		}
	}
	return "", false
}

func differenceOfLists(a, b []any) (string, bool) {
	for i := range min(len(a), len(b)) {
		if below, differ := difference(a[i], b[i]); differ {
			return join(fmt.Sprintf("[%d]", i), below), true
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("[%d]", min(len(a), len(b))), true
	}
	return "", false
}

func join(name, below string) string {
	if below == "" || below[0] == '[' {
		return name + below
	}
	return name + "." + below
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// sameNumber reports whether two values are equal numbers. It compares integers exactly.
func sameNumber(a, b any) bool {
	x, whole := a.(int64)
	y, bothWhole := b.(int64)
	if whole && bothWhole {
		return x == y
	}
	u, isNumber := float(a)
	v, areNumbers := float(b)
	return isNumber && areNumbers && u == v
}

func float(value any) (float64, bool) {
	switch number := value.(type) {
	case int64:
		return float64(number), true
	case float64:
		return number, true
	}
	return 0, false
}

// same reports whether an observed value means the same as the desired one, even if it is written differently:
// it compares numbers and quantities by their values, and a field that the host drops equals a missing one. The
// schema is the host's schema of the value; nil if there is none.
func same(schema *openapi.Type, observed, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		observed, ok := observed.(map[string]any)
		return ok && sameObjects(schema, observed, desired)
	case []any:
		observed, ok := observed.([]any)
		ok = ok && len(observed) == len(desired)
		for i := 0; ok && i < len(desired); i++ {
			ok = same(schema.Items(), observed[i], desired[i])
		}
		return ok
	default:
		_, differ := difference(observed, desired)
		return !differ || schema.IsQuantity() && sameQuantity(observed, desired)
	}
}

func sameObjects(schema *openapi.Type, observed, desired map[string]any) bool {
	for name, want := range desired {
		have := observed[name]
		if !same(schema.Field(name), have, want) && (have != nil || !schema.Drops(name, want)) {
			return false
		}
	}
	for name, have := range observed {
		if _, both := desired[name]; !both && !schema.Drops(name, have) {
			return false
		}
	}
	return true
}

// sameQuantity reports whether two values are equal quantities: 1000m is 1, 0.5 is 500m.
func sameQuantity(a, b any) bool {
	x, isQuantity := quantity(a)
	y, areQuantities := quantity(b)
	return isQuantity && areQuantities && x.Cmp(y) == 0
}

// quantity parses a quantity, which may be written as a number.
func quantity(value any) (resource.Quantity, bool) {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case int64:
		text = strconv.FormatInt(value, 10)
	case float64:
		text = strconv.FormatFloat(value, 'f', -1, 64)
	}
	read, err := resource.ParseQuantity(text)
	return read, err == nil
}
