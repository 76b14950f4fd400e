// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func TestWhatLabelsAreMadeFrom(t *testing.T) {
	const before = `{"metadata":{"name":"p","generation":1,"labels":{"a":"1"}},"spec":{"a":1},"status":{"a":1}}`
	tests := map[string]struct {
		after string
		same  bool
	}{
		"the spec":   {`{"metadata":{"name":"p","generation":2,"labels":{"a":"1"}},"spec":{"a":2},"status":{"a":1}}`, false},
		"the status": {`{"metadata":{"name":"p","generation":1,"labels":{"a":"1"}},"spec":{"a":1},"status":{"a":2}}`, true},
		"the annotations of a Deployment, and with them its generation": {
			`{"metadata":{"name":"p","generation":2,"annotations":{"a":"1"},"labels":{"a":"1"}},"spec":{"a":1},"status":{"a":1}}`, true,
		},
	}
	hash := func(text string) uint64 {
		parsed, err := object.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return hashContent(parsed)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if same := hash(before) == hash(test.after); same != test.same {
				t.Errorf("another answer is to be expected: %v", !same)
			}
		})
	}
}
