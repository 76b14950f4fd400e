// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// same tells whether what is observed is what is desired, if written otherwise: numbers
// and quantities are compared by their value, and what the host leaves out is the same
// as what it does not have.
func same(of *openapi.Type, observed, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		observed, ok := observed.(map[string]any)
		return ok && sameObjects(of, observed, desired)
	case []any:
		observed, ok := observed.([]any)
		ok = ok && len(observed) == len(desired)
		for i := 0; ok && i < len(desired); i++ {
			ok = same(of.Items(), observed[i], desired[i])
		}
		return ok
	default:
		_, differ := difference(observed, desired)
		return !differ || of.IsQuantity() && sameQuantity(observed, desired)
	}
}

func sameObjects(of *openapi.Type, observed, desired map[string]any) bool {
	for name, want := range desired {
		have := observed[name]
		if !same(of.Field(name), have, want) && (have != nil || !of.Drops(name, want)) {
			return false
		}
	}
	for name, have := range observed {
		if _, both := desired[name]; !both && !of.Drops(name, have) {
			return false
		}
	}
	return true
}

// sameQuantity compares two quantities by their value: 1000m is 1, 0.5 is 500m.
func sameQuantity(a, b any) bool {
	x, isQuantity := quantity(a)
	y, areQuantities := quantity(b)
	return isQuantity && areQuantities && x.Cmp(y) == 0
}

// quantity reads a quantity, which may be written as a number.
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
