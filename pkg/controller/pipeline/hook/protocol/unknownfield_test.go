// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

func TestWhatWasMeantByAnUnknownField(t *testing.T) {
	type want map[string]string
	for name, test := range map[string]struct {
		answer               string
		composite, decorator want // what was meant by each field
	}{
		"another case":               {`{"Children":[]}`, want{"Children": "children"}, want{"Children": "attachments"}},
		"letters exchanged":          {`{"childern":[]}`, want{"childern": "children"}, want{"childern": "attachments"}},
		"the name of the other kind": {`{"attachments":[]}`, want{"attachments": "children"}, want{}},
		"a letter is missing": {
			`{"resyncAfterSecond":5}`, want{"resyncAfterSecond": "resyncAfterSeconds"},
			want{"resyncAfterSecond": "resyncAfterSeconds"},
		},
		"words are missing": {
			`{"resyncAfter":5}`, want{"resyncAfter": "resyncAfterSeconds"}, want{"resyncAfter": "resyncAfterSeconds"},
		},
		"it only begins alike": {
			`{"childResources":[]}`, want{"childResources": "children"}, want{"childResources": "attachments"},
		},
		"another spelling":          {`{"finalised":true}`, want{"finalised": "finalized"}, want{"finalised": "finalized"}},
		"a field of one kind alone": {`{"label":{}}`, want{"label": ""}, want{"label": "labels"}},
		"a word of its own":         {`{"comment":"hello"}`, want{"comment": ""}, want{"comment": ""}},
		"too long to be a mistake": {
			`{"` + strings.Repeat("children", 6) + `":1}`, want{strings.Repeat("children", 6): ""},
			want{strings.Repeat("children", 6): ""},
		},
		"a long name is cut": {
			`{"` + strings.Repeat("x", 1000) + `":1}`, want{strings.Repeat("x", 117) + "…": ""},
			want{strings.Repeat("x", 117) + "…": ""},
		},
		"two":                            {`{"Children":[],"Status":{}}`, want{"Children": "children", "Status": "status"}, want{"Children": "attachments", "Status": "status"}},
		"what a status holds is its":     {`{"status":{"Children":[]}}`, want{}, want{}},
		"what a child holds is its":      {`{"children":[{"apiVersion":"v1","kind":"Pod","Status":{}}]}`, want{}, want{"children": "attachments"}},
		"a value of a Secret is no name": {`{"status":{"kind":"Secret","apiVersion":"v1","stringData":{"a":"hunter22"}},"hunter22":1}`, want{"xxxxx": ""}, want{"xxxxx": ""}},
	} {
		for format, want := range map[Format]want{Composite(): test.composite, Decorator(): test.decorator} {
			t.Run(name+"/"+format.parent, func(t *testing.T) {
				d := &Decoder{Redactor: redact.Redactor{Answer: []byte(test.answer)}}
				if _, err := d.Response(format, []byte(test.answer)); err != nil {
					t.Fatal(err)
				}
				expectUnknown(t, d, want)
			})
		}
	}
}

func TestAnAnswerInsideOfAFieldThatIsUnknown(t *testing.T) {
	const mustBeAtTheTop = " must be at the top of the answer, not inside of this field"
	for name, test := range map[string]struct{ answer, want string }{
		"children":                              {`{"response":{"children":[]}}`, "children" + mustBeAtTheTop},
		"children and a status":                 {`{"data":{"status":{},"children":[],"comment":"x"}}`, "children and status" + mustBeAtTheTop},
		"beside a field that is none":           {`{"response":{"status":{}},"ok":true}`, "status" + mustBeAtTheTop},
		"none of them":                          {`{"response":{"comment":"x"}}`, "leave it out"},
		"in a list":                             {`{"response":[{"children":[]}]}`, "leave it out"},
		"beside fields that are where they are": {`{"children":[],"request":{"children":[]}}`, "leave it out"},
		"inside of what is misspelt":            {`{"Status":{"status":{}}}`, `did you mean "status"?`},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Decoder{}
			if _, err := d.Response(Composite(), []byte(test.answer)); err != nil {
				t.Fatal(err)
			}
			if got := d.UnknownFields()[0].Advice(); got != test.want {
				t.Errorf("the advice is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestWhatWasMeantByAnUnknownFieldOfARule(t *testing.T) {
	for field, meant := range map[string]string{
		`relatedResource`:                                                "relatedResources",
		`related`:                                                        "relatedResources",
		`relatedResources[0].name`:                                       "names",
		`relatedResources[0].Kind`:                                       "",
		`relatedResources[0].labelSelecter`:                              "labelSelector",
		`relatedResources[0].labelSelector.labels`:                       "matchLabels",
		`relatedResources[0].namespaceSelector.matchExpression`:          "matchExpressions",
		`relatedResources[0].labelSelector.matchExpressions[0].Operator`: "operator",
	} {
		t.Run(field, func(t *testing.T) {
			_, within, inRule := strings.Cut(field, "relatedResources[0].")
			value := `{"` + field + `":[]}`
			if inRule {
				value = `"` + strings.NewReplacer(".", `":{"`, "[0]", "").Replace(within) + `":null` + strings.Repeat("}", strings.Count(within, "."))
				value = strings.Replace(value, `"matchExpressions":{`, `"matchExpressions":[{"key":"a",`, 1)
				if strings.Contains(within, "[0]") {
					value = strings.Replace(value, "null}", "null}]", 1)
				}
				value = `{"relatedResources":[{"apiVersion":"v1","resource":"pods",` + value + `}]}`
			}
			d := &Decoder{}
			_, _ = d.RelatedRules([]byte(value))
			expectUnknown(t, d, map[string]string{field: meant})
		})
	}
}

func expectUnknown(t *testing.T, d *Decoder, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, field := range d.UnknownFields() {
		got[field.Path] = field.Meant
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was meant differs (-want +got):\n%s", diff)
	}
}
