// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

type responseTest struct {
	body string // in the words of the composite format
	want pipeline.Response
}

func TestDecodeResponse(t *testing.T) {
	pod := parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a": 1.50}}`)
	job := parsed(t, `{"kind":"Job"}`)
	tests := map[string]responseTest{
		"everything": {
			body: "\n{\"status\": {\"a\" :1.0}, \"children\": [ {\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"a\": 1.50}} , {\"kind\":\"Job\"} ], \"resyncAfterSeconds\": 2.5, \"finalized\": true }\n",
			want: pipeline.Response{
				Status: []byte(`{"a" :1.0}`), Children: []*object.Object{pod, job}, SaysChildren: true,
				ResyncAfter: 2500 * time.Millisecond, Finalized: true, SaysFinalized: true,
			},
		},
		"null is an empty answer":            {body: `null`},
		"null in white space":                {body: " null\r\n"},
		"an empty object is an empty answer": {body: `{}`},
		"nulls stand for what is not there": {
			body: `{"status":null,"children":null,"resyncAfterSeconds":null,"finalized":null}`,
			want: pipeline.Response{SaysChildren: true, SaysFinalized: true},
		},
		"an empty status is one":              {body: `{"status":{}}`, want: pipeline.Response{Status: []byte(`{}`)}},
		"an empty list of children":           {body: `{"children":[]}`, want: pipeline.Response{SaysChildren: true}},
		"a whole number of seconds":           {body: `{"resyncAfterSeconds":10}`, want: pipeline.Response{ResyncAfter: 10 * time.Second}},
		"a fraction of a second":              {body: `{"resyncAfterSeconds":0.1}`, want: pipeline.Response{ResyncAfter: 100 * time.Millisecond}},
		"seconds with an exponent":            {body: `{"resyncAfterSeconds":1e2}`, want: pipeline.Response{ResyncAfter: 100 * time.Second}},
		"less than a nanosecond is not never": {body: `{"resyncAfterSeconds":1e-12}`, want: pipeline.Response{ResyncAfter: time.Nanosecond}},
		"zero seconds is never":               {body: `{"resyncAfterSeconds":0}`},
		"less than zero seconds is never":     {body: `{"resyncAfterSeconds":-5}`},
		"more than a year is a year":          {body: `{"resyncAfterSeconds":1e300}`, want: pipeline.Response{ResyncAfter: 365 * 24 * time.Hour}},
		"not finalized":                       {body: `{"finalized":false}`, want: pipeline.Response{SaysFinalized: true}},
		"fields it does not know":             {body: `{"comment":"hello","status":{"a":1},"Children":[{"kind":"Pod"}],"STATUS":5}`, want: pipeline.Response{Status: []byte(`{"a":1}`)}},
		"of a repeated field the last counts": {
			body: `{"children":[{"kind":"Pod"}],"children":[{"kind":"Job"}],"status":{"a":1},"status":null}`,
			want: pipeline.Response{Children: []*object.Object{job}, SaysChildren: true},
		},
		"repeated names in a status": {
			body: `{"status":{"a":1,"a":2}}`, want: pipeline.Response{Status: []byte(`{"a":1,"a":2}`)},
		},
		"escapes in the name of a field": {
			body: `{"st\u0061tus":{"a":1}}`, want: pipeline.Response{Status: []byte(`{"a":1}`)},
		},
	}
	inBothFormats(t, tests, func(t *testing.T, f Format, test responseTest) {
		got, err := (&Decoder{}).Response(f, []byte(f.says(test.body)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&test.want, got, cmp.AllowUnexported(object.Object{})); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

type refusalTest struct{ body, want string } // in the words of the composite format

// These are the answers of hooks under construction. Each error must tell its author
// what to do.
func TestDecodeResponseRefuses(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := map[string]refusalTest{
		"nothing":     {"", "it is empty; a hook must return a JSON object"},
		"white space": {" \n", "it is empty; a hook must return a JSON object"},
		"a list":      {`[]`, `it must be a JSON object, but it is "[]"`},
		"a string":    {`"ok"`, `it must be a JSON object, but it is "\"ok\""`},
		"a number":    {`5`, `it must be a JSON object, but it is "5"`},
		"plain text":  {`ok`, `it must be a JSON object, but it is "ok"`},
		"HTML":        {`<!DOCTYPE html><html>`, `it must be a JSON object, but it is "<!DOCTYPE html><html>"`},
		"long HTML": {
			"<html>" + long + long + long,
			`it must be a JSON object, but it is "<html>` + strings.Repeat("x", maxShownBytes-len("<html>…")) + `…"`,
		},
		"half a JSON object": {`{"status":{},"children":[{"kind":"Pod"`, `it is not valid JSON: it ends ` +
			`unexpectedly in line 1, near {"status":{},"children":[{"kind":"Pod"`},
		"what Python prints":         {`{'status': None}`, `it is not valid JSON: strings need double quotes, not the single quotes in line 1, near {'status': None}`},
		"half a JSON string":         {`{"status":{"a":"b`, "it ends unexpectedly in line 1"},
		"JSON with a comma too many": {"{\"status\":{}\n,}", "invalid character ',' at start of value in line 2, near {\"status\":{} ,}"},
		"single quotes":              {`{'status':{}}`, "double quotes"},
		"NaN":                        {`{"resyncAfterSeconds":NaN}`, "invalid character 'N'"},
		"two objects":                {`{"status":{}}{"status":{}}`, "follows the end of the object"},
		"text after the object":      {`{"status":{}} thanks`, `"thanks" follows the end of the object`},

		"a status that is a string": {`{"status":"ok"}`, `status must be a JSON object, not "ok"`},
		"a status that is a list":   {`{"status":[]}`, `status must be a JSON object, not []`},
		"a status that is a number": {`{"status":1}`, `status must be a JSON object, not 1`},
		"children in an object": {
			`{"children":{"a":{"kind":"Pod"}}}`, `children must be a list of objects, not {"a":{"kind":"Pod"}}`,
		},
		"children that are a string": {`{"children":"none"}`, `children must be a list of objects, not "none"`},
		"a child that is null":       {`{"children":[{"kind":"Pod"},null]}`, `children[1] is null; it must be an object`},
		"a child that is a string":   {`{"children":["a"]}`, `children[0]: expected an object, found "a"`},
		"a child that is a list": {
			`{"children":[[{"kind":"Pod"}]]}`, `children[0]: expected an object, found [{"kind":"Pod"}]`,
		},
		"a child without a kind":     {`{"children":[{"apiVersion":"v1"}]}`, `children[0] has no kind: {"apiVersion":"v1"}`},
		"a child with an empty kind": {`{"children":[{"kind":""}]}`, `children[0] has no kind: {"kind":""}`},
		"a child with a null kind":   {`{"children":[{"kind":null}]}`, `children[0] has no kind: {"kind":null}`},
		"a long child without a kind": {
			`{"children":[{"a":"` + long + `"}]}`, `children[0] has no kind: {"a":"` + strings.Repeat("x", 111) + "…",
		},
		"a child with a label that is a number": {
			`{"children":[{"kind":"Pod"},{"kind":"Pod","metadata":{"labels":{"a":1}}}]}`, `children[1]: metadata.labels[a]: expected a string, found 1`,
		},
		"a child with a name that is a number": {
			`{"children":[{"kind":"Pod","metadata":{"name":5}}]}`, `children[0]: metadata.name: expected a string, found 5`,
		},
		"seconds in a string":          {`{"resyncAfterSeconds":"5"}`, `resyncAfterSeconds must be a number of seconds, not "5"`},
		"seconds in an object":         {`{"resyncAfterSeconds":{}}`, `resyncAfterSeconds must be a number of seconds, not {}`},
		"more seconds than a number":   {`{"resyncAfterSeconds":1e999}`, `resyncAfterSeconds must be a number of seconds, not 1e999`},
		"finalized in a string":        {`{"finalized":"true"}`, `finalized must be true or false, not "true"`},
		"a number for finalized":       {`{"finalized":1}`, `finalized must be true or false, not 1`},
		"one bad field after good one": {`{"children":[{"kind":"Pod"}],"status":"x"}`, `status must be a JSON object, not "x"`},
	}
	inBothFormats(t, tests, func(t *testing.T, f Format, test refusalTest) {
		got, err := (&Decoder{}).Response(f, []byte(f.says(test.body)))
		if err == nil {
			t.Fatalf("read as %+v", got)
		}
		if !errors.Is(err, ErrMalformed) || !strings.HasPrefix(err.Error(), "the hook's answer cannot be read: ") {
			t.Errorf("error is %q, want it to say that the answer cannot be read", err)
		}
		if want := f.says(test.want); !strings.Contains(err.Error(), want) {
			t.Errorf("error is %q, want it to say %q", err, want)
		}
		if len(err.Error()) > 3000 {
			t.Errorf("the error has %d characters", len(err.Error()))
		}
	})
}

func TestEventsOfAnAnswerAreRead(t *testing.T) {
	tests := map[string]struct {
		answer string
		want   []pipeline.HookEvent
		err    string
	}{
		"none":        {answer: `[]`},
		"null":        {answer: `null`},
		"a plain one": {answer: `[{"reason":"Ready","message":"all is well"}]`, want: []pipeline.HookEvent{{Reason: "Ready", Message: "all is well"}}},
		"a warning": {answer: `[{"type":"Warning","reason":"BackupFailed","message":"the disk is full"}]`,
			want: []pipeline.HookEvent{{Warning: true, Reason: "BackupFailed", Message: "the disk is full"}}},
		"one about a child": {answer: `[{"type":"Normal","reason":"Moved","message":"m","child":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}}]`,
			want: []pipeline.HookEvent{{Reason: "Moved", Message: "m", Child: &pipeline.HookEventChild{Group: "apps", Kind: "Deployment", Name: "a"}}}},
		"no list":              {answer: `{"reason":"A"}`, err: "events must be a list of objects"},
		"a text in the list":   {answer: `["Ready"]`, err: "events must be a list of objects"},
		"an unknown type":      {answer: `[{"type":"Error","reason":"A","message":"m"}]`, err: `events[0].type must be Normal or Warning, not "Error"`},
		"no reason":            {answer: `[{"message":"m"}]`, err: "events[0].reason must be a word in CamelCase"},
		"a sentence as reason": {answer: `[{"reason":"A","message":"m"},{"reason":"it is full","message":"m"}]`, want: []pipeline.HookEvent{{Reason: "A", Message: "m"}}, err: `events[1].reason must be a word in CamelCase, such as BackupFailed, not "it is full"`},
		"no message":           {answer: `[{"reason":"A"}]`, err: "events[0].message must not be empty"},
		"a child without name": {answer: `[{"reason":"A","message":"m","child":{"apiVersion":"v1","kind":"Pod"}}]`, err: "events[0].child must have the apiVersion, kind and name"},
		"too many": {want: slices.Repeat([]pipeline.HookEvent{{Reason: "A", Message: "m"}}, 10),
			answer: "[" + strings.Repeat(`{"reason":"A","message":"m"},`, 10) + `{"reason":"A","message":"m"}]`,
			err:    "events has 11 entries; the maximum is 10"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, format := range []Format{Composite(), Decorator()} {
				decoder := &Decoder{}
				got, err := decoder.Response(format, []byte(`{"events":`+test.answer+`}`))
				if err != nil {
					t.Fatal(err)
				}
				if strict := errors.Join(decoder.StrictErrors()...); (strict != nil) != (test.err != "") || strict != nil && !strings.Contains(strict.Error(), test.err) {
					t.Errorf("the strict error is %v, want %q", strict, test.err)
				}
				if diff := cmp.Diff(test.want, got.Events); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// repeated returns a text of about a megabyte, which has the numbers of its parts at %d.
func repeated(format string) string {
	text := &strings.Builder{}
	for i := 0; text.Len() < 1<<20; i++ {
		if i > 0 {
			text.WriteString(",")
		}
		if strings.Contains(format, "%d") {
			fmt.Fprintf(text, format, i)
		} else {
			text.WriteString(format)
		}
	}
	return text.String()
}

// What an answer costs beside its own bytes is bounded, whatever is wrong with it.
func TestAnAnswerCostsNoMoreThanWhatIsShownOfIt(t *testing.T) {
	lines := &strings.Builder{}
	for i := range 60_000 {
		fmt.Fprintf(lines, `%x\n`, uint64(i)*2654435761%4294967291)
	}
	secrets := `{"kind":"Secret","stringData":{"a":"` + lines.String() + `"}}`
	read := func(d *Decoder, answer []byte) error {
		_, err := d.Response(Composite(), answer)
		return err
	}
	rules := func(d *Decoder, answer []byte) error {
		_, err := d.RelatedRules(answer)
		return err
	}
	show := func(d *Decoder, answer []byte) error {
		_ = d.Show(answer)
		return nil
	}
	decorator := func(d *Decoder, answer []byte) error {
		_, err := d.Response(Decorator(), answer)
		return err
	}
	const events = `{"events":[{"reason":"A","message":"one"},{"reason":"B","message":"two"}]}`
	for name, test := range map[string]struct {
		request, answer string
		read            func(d *Decoder, answer []byte) error
		most            uint64
		want            string
	}{
		"unknown fields":        {answer: `{` + repeated(`"childrem%d":{}`) + `}`, read: read, most: 4 << 20},
		"a field again":         {answer: `{` + repeated(`"finalized":true`) + `}`, read: read, most: 20 << 20},
		"events":                {answer: `{"events":[` + repeated(`{}`) + `]}`, read: read, most: 4 << 20},
		"duplicates in status":  {answer: `{"status":{` + repeated(`"a":1`) + `}}`, read: read, most: 2 << 20},
		"a text about Secrets":  {answer: repeated(`Secret "key": "value", 'a': b`), read: show, most: 1 << 20},
		"events, many Secrets":  {request: secrets, answer: events, read: read, most: 16 << 20},
		"unknown, many Secrets": {request: secrets, answer: `{` + repeated(`"x%d":{}`) + `}`, read: read, most: 20 << 20},
		"unknown fields of rules": {
			answer: `{"relatedResources":[{"apiVersion":"v1","resource":"pods",` + repeated(`"x%d":{}`) + `}]}`,
			read:   rules, most: 16 << 20,
		},
		"rules": {
			answer: `{"relatedResources":[` + repeated(`{"apiVersion":"v1","resource":"pods"}`) + `]}`,
			read:   rules, most: 24 << 20, want: "more than the maximum of 4096 rules",
		},
		"labels": {
			answer: `{"labels":{` + repeated(`"%d":null`) + `}}`,
			read:   decorator, most: 20 << 20, want: "the maximum is 1048576",
		},
		"children": {
			answer: `{"children":[` + repeated(`{"kind":"A"}`) + `]}`,
			read:   read, most: 24 << 20, want: "more than the maximum of 20000 entries",
		},
		"a value of the wrong type": {
			answer: `{"children":"` + repeated(`Secret`) + `"}`,
			read:   read, most: 8 << 20, want: redact.NotShown,
		},
		"what is not JSON": {
			answer: `{"children":[` + repeated(`'%d'`),
			read:   read, most: 4 << 20, want: "single quotes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Decoder{FindDuplicates: true, Redactor: redact.Redactor{
				Request: []byte(test.request), Answer: []byte(test.answer), Credentials: []string{"t0ken"},
			}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			err := test.read(d, d.Redactor.Answer)
			t.Logf("it took %s", time.Since(began))
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > test.most {
				t.Errorf("it has allocated %d bytes for an answer of %d, want %d at most", allocated, len(test.answer), test.most)
			}
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %.300v, want %q", err, test.want)
			}
			if kept := len(d.StrictErrors()); kept > maxStrictErrors+1 {
				t.Errorf("%d strict errors are kept", kept)
			}
		})
	}
}

func TestOfManyStrictErrorsTheOthersAreCounted(t *testing.T) {
	d := &Decoder{}
	if _, err := d.Response(Composite(), []byte(`{`+repeated(`"x%d":1`)+`}`)); err != nil {
		t.Fatal(err)
	}
	found := d.StrictErrors()
	if last := found[len(found)-1].Error(); !strings.HasPrefix(last, "and ") || !strings.HasSuffix(last, " more") {
		t.Errorf("the last one is %q", last)
	}
}

func TestALongListOfEventsIsReadInPart(t *testing.T) {
	d := &Decoder{}
	response, err := d.Response(Composite(), []byte(`{"events":[`+repeated(`{"reason":"A%d","message":"m"}`)+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	last := pipeline.HookEvent{Reason: "A9", Message: "m"}
	if got := response.Events; len(got) != maxEvents || got[maxEvents-1] != last {
		t.Errorf("read are %v", got)
	}
}
