// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"testing"
	"time"
)

func TestQ26AnswerLastsAsLongAsWhatItDependsOn(t *testing.T) {
	const before = `{metadata: {name: a, uid: u, generation: 1, resourceVersion: "1", labels: {a: b}, annotations: {c: d}}, spec: {x: 1}, status: {y: 1}}`
	tests := map[string]struct {
		before, after string
		age           time.Duration
		want          bool
	}{
		"the same parent":                     {before, before, 0, true},
		"another status":                      {before, `{metadata: {name: a, uid: u, generation: 1, resourceVersion: "2", labels: {a: b}, annotations: {c: d}}, spec: {x: 1}, status: {y: 2}}`, 0, true},
		"a finalizer more":                    {before, `{metadata: {name: a, uid: u, generation: 1, resourceVersion: "2", finalizers: [f], labels: {a: b}, annotations: {c: d}}, spec: {x: 1}}`, 0, true},
		"another generation":                  {before, `{metadata: {name: a, uid: u, generation: 2, labels: {a: b}, annotations: {c: d}}}`, 0, false},
		"another label":                       {before, `{metadata: {name: a, uid: u, generation: 1, labels: {a: x}, annotations: {c: d}}}`, 0, false},
		"a label more":                        {before, `{metadata: {name: a, uid: u, generation: 1, labels: {a: b, x: ""}, annotations: {c: d}}}`, 0, false},
		"another annotation":                  {before, `{metadata: {name: a, uid: u, generation: 1, labels: {a: b}, annotations: {c: x}}}`, 0, false},
		"labels and annotations changed over": {before, `{metadata: {name: a, uid: u, generation: 1, labels: {c: d}, annotations: {a: b}}}`, 0, false},
		"another parent of that name":         {before, `{metadata: {name: a, uid: x, generation: 1, labels: {a: b}, annotations: {c: d}}}`, 0, false},
		"shortly before it is too old":        {before, before, answerLasts - time.Second, true},
		"too old":                             {before, before, answerLasts, false},
		"a parent without generation whose spec is another": {
			`{metadata: {name: a, uid: u}, spec: {x: 1}}`, `{metadata: {name: a, uid: u}, spec: {x: 2}}`, 0, false,
		},
		"a parent without generation whose status is another": {
			`{metadata: {name: a, uid: u}, spec: {x: 1}, status: {y: 1}}`, `{metadata: {name: a, uid: u, resourceVersion: "2"}, spec: {x: 1}, status: {y: 2}}`, 0, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			given := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
			answer := Answer{about: versionOf(parsed(t, test.before)), given: given}
			if got := answer.lasts(parsed(t, test.after), given.Add(test.age)); got != test.want {
				t.Errorf("the answer lasts: %v, want %v", got, test.want)
			}
		})
	}
	if (&Answer{}).lasts(parsed(t, before), time.Now()) {
		t.Error("there is no answer yet")
	}
}
