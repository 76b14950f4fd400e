// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestHasAllFields(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		want  bool
	}{
		"known fields":                 {`{"spec":{"hostNetwork":true,"containers":[{"name":"a"},{"name":"b","ports":[]}]}}`, true},
		"spaces":                       {" {\n\t\"spec\" : { \"hostNetwork\" : true , \"containers\" : [ { } , { } ] } }\n", true},
		"nothing in it":                {`{}`, true},
		"an unknown field":             {`{"spec":{"nonsense":true}}`, false},
		"one behind nested values":     {`{"spec":{"tolerations":[{"a":[1,{"b":null}]}],"nonsense":1}}`, false},
		"one behind quotes in a text":  {`{"spec":{"nodeSelector":{"a":"\\\"}]"},"nonsense":1}}`, false},
		"one behind a backslash":       {`{"spec":{"nodeSelector":{"a":"b\\"},"nonsense":1}}`, false},
		"quotes in a text":             {`{"spec":{"nodeSelector":{"a":"\"}]\\"},"hostNetwork":true}}`, true},
		"brackets in a skipped text":   {`{"spec":{"tolerations":["}]"],"hostNetwork":true}}`, true},
		"a name with an escape":        {`{"sp\u0065c":{}}`, false},
		"a text in place of an object": {`{"spec":"a"}`, true},
		"cut off in an object":         {`{"spec":{`, false},
		"cut off in a text":            {`{"spec":"a`, false},
		"cut off behind a name":        {`{"spec"`, false},
		"cut off in a skipped list":    {`{"spec":{"tolerations":[1,`, false},
		"a name that is none":          {`{1:2}`, false},
		"too many ends":                {`{"spec":}}`, false},
		"empty":                        {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			of, value := read(t, pod), []byte(test.value)
			if got := of.hasAllFields(value); got != test.want {
				t.Errorf("has all: %t", got)
			}
			alloctest.Exactly(t, 0, func() { of.hasAllFields(value) })
		})
	}
}

// What is said to be known must be known: otherwise a misspelt field would not be found.
func FuzzHasAllFields(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"containers":[{"name":"a","nam":1}]}}`, `{"spec":{"nodeSelector":{"a":"\\\"}]"},"nonsense":1}}`, `{"sp\u0065c":{}}`, `[{"a":1}]`, ` {"metadata" : {"labels":{}}, "x":[]}`,
	} {
		f.Add(seed)
	}
	of := read(f, pod)
	f.Fuzz(func(t *testing.T, value string) {
		if json.Valid([]byte(value)) && of.hasAllFields([]byte(value)) {
			if unknown := of.searchUnknown([]byte(value)); len(unknown) > 0 {
				t.Errorf("%s has %v", value, unknown)
			}
		}
	})
}
