// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// FuzzRedactor holds for any answer about a Secret that the value of the Secret is not shown, and
// that JSON stays JSON.
func FuzzRedactor(f *testing.F) {
	const value = "hunter2!"
	const request = `{"parent":{"apiVersion":"v1","kind":"Secret","data":{"word":"aHVudGVyMiE="}}}`
	for _, seed := range []string{
		value, `"` + value + `"`, `{"kind":"Secret","data":{"a":"` + value + `"},"x":["` + value + `"]}`, `Secret {'a': '` + value, `{"a":"{\"kind\":\"Secret\",\"data\":{\"a\":1}}"}`,
		"kind: Secret\ndata: {a: " + value + "}", `[{"kind":"SecretList","items":[{"stringData":["` + value + `"]}]}`, "{}", "[", `"\u0068unter2!"`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		r := Redactor{Credentials: []string{"t0ken"}, Request: []byte(request), Answer: answer}
		shown := r.Body(answer)
		for _, hidden := range []string{value, "aHVudGVyMiE", "t0ken"} {
			if strings.Contains(shown, hidden) {
				t.Errorf("of %q is shown %q", answer, shown)
			}
		}
		if json.Valid(answer) && !json.Valid([]byte(shown)) {
			t.Errorf("%q is JSON, and shown is %q", answer, shown)
		}
	})
}

func TestWhatIsShownOfABody(t *testing.T) {
	const long = "first line of a key\nsecond line of a key"
	secret := `{"apiVersion":"v1","kind":"Secret","stringData":{"pin":"7","registry":"{\"auths\":[{\"password\":\"pa55word\"}]}","env":"USER=b\nPASSWORD='sw0rdfish'","yaml":"a:\n  b: 0pen5esame","word":"hunter2\n","key":` + string(appendQuote(nil, long)) + `}}`
	tests := map[string]struct{ body, want string }{
		"what is not secret":             {` {"a": [1, true, null, "b"]} `, `{"a":[1,true,null,"b"]}`},
		"the data of a ConfigMap":        {`{"kind":"ConfigMap","data":{"a":"b"}}`, `{"kind":"ConfigMap","data":{"a":"b"}}`},
		"a Secret of another group":      {`{"apiVersion":"vault.example/v1","kind":"Secret","data":{"a":"b"}}`, `{"apiVersion":"vault.example/v1","kind":"Secret","data":{"a":"b"}}`},
		"a Secret":                       {`{"kind":"Secret","type":"Opaque","data":{"a":"b","c":null}}`, `{"kind":"Secret","type":"Opaque","data":{"a":"xxxxx","c":"xxxxx"}}`},
		"data of the wrong type":         {`{"kind":"Secret","data":["YWJj"],"stringData":null}`, `{"kind":"Secret","data":"xxxxx","stringData":"xxxxx"}`},
		"a Secret in an annotation":      {`{"a":"{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}"}`, `{"a":"{\"kind\":\"Secret\",\"data\":{\"a\":\"xxxxx\"}}"}`},
		"a value without its line feed":  {`no hunter2`, `no xxxxx`},
		"one line of a value":            {"second line of a key", "xxxxx"},
		"a value on one line":            {`'first line of a key\nsecond line of a key'`, `'xxxxx'`},
		"a text in a value that is JSON": {`KeyError: pa55word`, `KeyError: xxxxx`},
		"what a line sets":               {`no sw0rdfish`, `no xxxxx`},
		"what a line of YAML sets":       {`no 0pen5esame`, `no xxxxx`},
		"a short value":                  {`7 hooks`, `7 hooks`},
		"a credential":                   {`token t0 is no token`, `token xxxxx is no token`},
		"numbers":                        {`{"a":1234,"b":12345}`, `{"a":1234,"b":12345}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := Redactor{Credentials: []string{"t0"}, Request: []byte(secret), Answer: []byte(test.body)}
			if got := r.Body([]byte(test.body)); got != test.want {
				t.Errorf("shown is %s, want %s", got, test.want)
			}
		})
	}
}

// The hook decides how many Secrets there are, and each line of one is secret.
func TestNothingIsShownIfThereAreTooManySecrets(t *testing.T) {
	lines := &strings.Builder{}
	for i := range maxForms {
		fmt.Fprintf(lines, "line %d\n", i)
	}
	answer, err := json.Marshal(map[string]any{"kind": "Secret", "stringData": map[string]string{"a": lines.String()}})
	if err != nil {
		t.Fatal(err)
	}
	r := Redactor{Answer: answer}
	if got := r.Values("line 49999"); got != NotShown {
		t.Errorf("of a text is shown %q", got)
	}
	if got := r.Body(answer); got != `"`+NotShown+`"` {
		t.Errorf("of the answer is shown %q", got)
	}
	if len(r.forms) > maxForms+20 {
		t.Errorf("it searches for %d forms", len(r.forms))
	}
}
