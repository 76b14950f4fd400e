// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import "testing"

func TestOverlap(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"a field":                             {`{"f:data":{"f:a":{},"f:b":{}}}`, `{"f:data":{"f:b":{},"f:c":{}}}`, true},
		"a field and what is below it":        {`{"f:data":{".":{}}}`, `{"f:data":{"f:a":{}}}`, false},
		"a list item":                         {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:x":{}}}}`, `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:y":{}}}}`, true},
		"other fields of a list item":         {`{"f:l":{"k:{\"name\":\"a\"}":{"f:x":{}}}}`, `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:y":{}}}}`, false},
		"an owner alone":                      {`{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}}}`, `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}}}`, false},
		"a label beside an owner":             {`{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`, `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`, true},
		"nothing":                             {`{"f:a":{}}`, `{"f:b":{}}`, false},
		"nothing that is known of a broken a": {`{"f:a":`, `{"f:a":{}}`, false},
		"nothing that is known of a broken b": {`{"f:a":{}}`, `{"f:a":`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Overlap([]byte(test.a), []byte(test.b)); got != test.want {
				t.Errorf("they overlap: %v", got)
			}
		})
	}
}
