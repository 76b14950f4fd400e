// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "testing"

func TestUnblankJSON(t *testing.T) {
	for name, test := range map[string]struct{ kept, now, want string }{
		"nothing is blanked": {`{"a": 1}`, `{"a":2}`, `{"a": 1}`},
		"a value": {
			`{"children":{"Secret.v1":{"db":{"data":{"p":"xxxxx"}}}}}`,
			`{"children":{"Secret.v1":{"db":{"data":{"p":"b2xk"}}}}}`,
			`{"children":{"Secret.v1":{"db":{"data":{"p":"b2xk"}}}}}`,
		},
		"in a text":              {`["a://b:xxxxx@c/xxxxx."]`, `["a://b:secret@c/me."]`, `["a://b:secret@c/me."]`},
		"in a text that changed": {`["a://b:xxxxx@c"]`, `["a://b:secret@d"]`, `["a://b:xxxxx@c"]`},
		"what is gone":           {`{"a":{"p":"xxxxx"},"b":["xxxxx"]}`, `{"b":[]}`, `{"a":{"p":"xxxxx"},"b":["xxxxx"]}`},
		"the rest is as it was": {
			`{"p":"xxxxx","n":1,"f":1.5,"t":"old"}`, `{"p":"b","n":2,"f":2.5,"t":"new"}`, `{"f":1.5,"n":1,"p":"b","t":"old"}`,
		},
		"another sort of a value":  {`{"p":"xxxxx"}`, `{"p":{"a":"b"}}`, `{"p":"xxxxx"}`},
		"what cannot be read":      {`xxxxx`, `{}`, `xxxxx`},
		"nothing is there instead": {`{"p":"xxxxx"}`, ``, `{"p":"xxxxx"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(UnblankJSON([]byte(test.kept), []byte(test.now))); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}
