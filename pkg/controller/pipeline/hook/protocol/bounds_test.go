// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

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
			read:   rules, most: 24 << 20, want: "more than 4096 rules",
		},
		"labels": {
			answer: `{"labels":{` + repeated(`"%d":null`) + `}}`,
			read:   decorator, most: 20 << 20, want: "there may be 1048576",
		},
		"children": {
			answer: `{"children":[` + repeated(`{"kind":"A"}`) + `]}`,
			read:   read, most: 24 << 20, want: "more than 20000 entries",
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
