// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
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
func TestTheSearchForSecretsIsBounded(t *testing.T) {
	lines := func(format string, count int) []byte {
		text := &strings.Builder{}
		for i := range count {
			fmt.Fprintf(text, format+"\n", i)
		}
		answer, err := json.Marshal(map[string]any{"kind": "Secret", "stringData": map[string]string{"a": text.String()}})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	long := append(lines("line%d", 1), strings.Repeat(" ", maxSearchedBytes)...)
	tooLong := strings.Repeat("no ", maxBodyBytes)
	deep := strings.Repeat(`{"a":`, 5000) + `"Secret"` + strings.Repeat(`}`, 5000)
	for name, test := range map[string]struct {
		request      []byte
		text, want   string
		maxAllocated uint64
	}{
		"many lines":                              {lines("line%d", 50_000), "no line49999 here", "no xxxxx here", 10 << 20},
		"many lines, of which the text has none":  {lines("line%d", 50_000), "it failed", "it failed", 10 << 20},
		"many lines with something to escape":     {lines(`"%d"`, 5_000), `no "4999" here`, "no xxxxx here", 20 << 20},
		"too many lines with something to escape": {lines(`"%d"`, 50_000), "it failed", NotShown, 30 << 20},
		"too many lines":                          {lines("line%d", 150_000), "it failed", NotShown, 20 << 20},
		"too many bytes":                          {long, "it failed", NotShown, 1 << 20},
		"too deep a request":                      {[]byte(deep), "it failed", NotShown, 1 << 20},
		"a long text":                             {lines("line%d", 20), tooLong, NotShown, 8 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := Redactor{Request: test.request}
			got := r.Values(test.text)
			runtime.ReadMemStats(&after)
			if got != test.want {
				t.Errorf("shown is %.80q, want %q", got, test.want)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > test.maxAllocated {
				t.Errorf("it has allocated %d bytes, want %d at most", allocated, test.maxAllocated)
			}
			wantBody := test.want
			if body := r.Body([]byte(test.text)); body != wantBody && body != strconv.Quote(wantBody) {
				t.Errorf("of a body is shown %q", body)
			}
		})
	}
}

func TestDeepValuesAreNotShown(t *testing.T) {
	deep := strings.Repeat(`[`, maxDepth+2) + `"hunter2"` + strings.Repeat(`]`, maxDepth+2)
	if got := (&Redactor{}).Body([]byte(deep)); strings.Contains(got, "hunter2") || !json.Valid([]byte(got)) {
		t.Errorf("shown is %q", got)
	}
}

func TestManyValuesAreBlankedWhereverABodyQuotesThem(t *testing.T) {
	values := map[string]string{}
	for i := range 100 {
		values[fmt.Sprint("key", i)] = fmt.Sprintf("pass\"wörd<%d>", i)
	}
	request, err := json.Marshal(map[string]any{"kind": "Secret", "stringData": values})
	if err != nil {
		t.Fatal(err)
	}
	inner, _ := json.Marshal(map[string]string{"a": values["key7"]})
	answer, _ := json.Marshal(map[string]any{"b": string(inner), values["key8"]: []string{"x " + values["key9"]}})
	r := Redactor{Request: request, Answer: answer}
	if got, want := r.Body(answer), `{"b":"{\"a\":\"xxxxx\"}","xxxxx":["x xxxxx"]}`; got != want {
		t.Errorf("shown is %s, want %s", got, want)
	}
	if got := r.Each([]string{"", values["key1"], "fine"}); !slices.Equal(got, []string{"", "xxxxx", "fine"}) {
		t.Errorf("shown is %q", got)
	}
}
