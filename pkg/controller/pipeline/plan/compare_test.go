// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// exact returns the generic JSON of a text, in which whole numbers differ from others.
func exact(t *testing.T, text string) any {
	t.Helper()
	var wrapped struct{ Value any }
	if err := utiljson.Unmarshal(fmt.Appendf(nil, `{"Value":%s}`, text), &wrapped); err != nil {
		t.Fatal(err)
	}
	return wrapped.Value
}

func TestNoDifference(t *testing.T) {
	tests := map[string]struct{ a, b string }{
		"equal objects":                      {`{"a":1,"b":[true,"x",null]}`, `{"b":[true,"x",null],"a":1}`},
		"10 and 10.0":                        {`{"a":10}`, `{"a":10.0}`},
		"1000 and 1e3":                       {`1000`, `1e3`},
		"0 and -0.0":                         {`0`, `-0.0`},
		"a null and nothing":                 {`{"a":null}`, `{}`},
		"a null and nothing further below":   {`{"a":{"b":1,"c":null}}`, `{"a":{"b":1}}`},
		"two nulls":                          {`{"a":null}`, `{"a":null}`},
		"a null and nothing within an item":  {`[{"a":1,"b":null}]`, `[{"a":1}]`},
		"large whole numbers that are equal": {`9007199254740993`, `9007199254740993`},
		"empty lists":                        {`{"a":[]}`, `{"a":[]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
				if path, differ := difference(exact(t, pair[0]), exact(t, pair[1])); differ {
					t.Errorf("%s and %s differ at %q", pair[0], pair[1], path)
				}
			}
		})
	}
}

func TestDifferenceNamesTheFirstFieldThatDiffers(t *testing.T) {
	tests := map[string]struct{ a, b, path string }{
		"another value":                    {`{"a":1,"b":1}`, `{"a":1,"b":2}`, "b"},
		"the first by name of several":     {`{"c":1,"b":1,"a":0}`, `{"c":2,"b":2,"a":0}`, "b"},
		"a field that is only in one":      {`{"a":1}`, `{"a":1,"b":false}`, "b"},
		"an object that is only in one":    {`{"a":1}`, `{"a":1,"b":{"d":1,"c":{"f":[1],"e":{}}}}`, "b.c.e"},
		"a field further below":            {`{"spec":{"template":{"x":1}}}`, `{"spec":{"template":{"x":2}}}`, "spec.template.x"},
		"an item of a list":                {`{"a":[{"n":1},{"n":1}]}`, `{"a":[{"n":1},{"n":2}]}`, "a[1].n"},
		"a shorter list":                   {`{"a":[1,2]}`, `{"a":[1]}`, "a[1]"},
		"a list of lists":                  {`{"a":[[1],[2]]}`, `{"a":[[1],[3]]}`, "a[1][0]"},
		"the order of a list":              {`{"a":[1,2]}`, `{"a":[2,1]}`, "a[0]"},
		"text and the number it says":      {`{"a":"1"}`, `{"a":1}`, "a"},
		"a truth value and text":           {`{"a":true}`, `{"a":"true"}`, "a"},
		"a null and zero":                  {`{"a":null}`, `{"a":0}`, "a"},
		"a null and an empty object":       {`{"a":null}`, `{"a":{}}`, "a"},
		"nothing and an empty list":        {`{}`, `{"a":[]}`, "a"},
		"a null and nothing in a list":     {`{"a":[null]}`, `{"a":[]}`, "a[0]"},
		"an object and a list":             {`{"a":{}}`, `{"a":[]}`, "a"},
		"an object and text":               {`{"a":{}}`, `{"a":"x"}`, "a"},
		"whole numbers that floats mix up": {`{"a":9007199254740993}`, `{"a":9007199254740992}`, "a"},
		"numbers with fractions":           {`{"a":1.5}`, `{"a":1.25}`, "a"},
		"a number and a number in quotes":  {`{"a":10.0}`, `{"a":"10"}`, "a"},
		"two values that are no objects":   {`1`, `2`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
				path, differ := difference(exact(t, pair[0]), exact(t, pair[1]))
				if !differ || path != test.path {
					t.Errorf("%s and %s: differ %v at %q, want %q", pair[0], pair[1], differ, path, test.path)
				}
			}
		})
	}
}
