// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

type strictTest struct {
	body string // in the words of the composite format
	want string // empty if nothing
}

func TestWhatStrictReadersObjectTo(t *testing.T) {
	const child = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	tests := map[string]strictTest{
		"nothing":                               {`{"status":{"a":{"b":[{"c":1},{"c":2}]}},"children":[` + child + `],"resyncAfterSeconds":1,"finalized":false}`, ""},
		"nothing in null":                       {`null`, ""},
		"nothing in nulls":                      {`{"status":null,"children":null,"resyncAfterSeconds":null,"finalized":null}`, ""},
		"an unknown field":                      {`{"chlidren":[]}`, `unknown field "chlidren" (did you mean "children"?)`},
		"another case":                          {`{"Children":[]}`, `unknown field "Children" (did you mean "children"?)`},
		"several":                               {`{"a":1,"b":2}`, `[unknown field "a" (leave it out), unknown field "b" (leave it out)]`},
		"a field twice":                         {`{"children":[],"children":[]}`, `duplicate field "children"`},
		"a field twice, once by an escape":      {`{"status":{},"st\u0061tus":{}}`, `duplicate field "status"`},
		"a name twice in the status":            {`{"status":{"a":1,"a":2}}`, `duplicate field "status.a"`},
		"a name twice deep in the status":       {`{"status":{"conditions":[{"type":"A"},{"type":"B","reason":"x","reason":"y"}]}}`, `duplicate field "status.conditions[1].reason"`},
		"two names twice":                       {`{"status":{"a":1,"a":2,"b":{"c":1,"c":1}}}`, `[duplicate field "status.a", duplicate field "status.b.c"]`},
		"what a status holds is its own":        {`{"status":{"whatever":{"Children":1}}}`, ""},
		"what a child holds is its own":         {`{"children":[{"apiVersion":"v1","kind":"ConfigMap","whatever":1}]}`, ""},
		"a name twice in a child is overlooked": {`{"children":[{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","a":"2"},"data":{}}]}`, ""},
	}
	inBothFormats(t, tests, func(t *testing.T, f Format, test strictTest) {
		d := &Decoder{FindDuplicates: true}
		if _, err := d.Response(f, []byte(f.says(test.body))); err != nil {
			t.Fatal(err)
		}
		got, want := "", strings.ReplaceAll(f.says(test.want), `mean "children"`, `mean "`+f.children+`"`)
		if err := utilerrors.NewAggregate(d.StrictErrors()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("the strict errors are\n%s\nwant\n%s", got, want)
		}
	})
}

func TestModeThatIsEmptyIsNone(t *testing.T) {
	hook := &v1alpha1.Hook{Version: ptr.To(v1alpha1.HookVersionV2), Webhook: &v1alpha1.Webhook{ResponseUnmarshallMode: ptr.To(v1alpha1.ResponseUnmarshallMode(""))}}
	if mode := UnmarshalMode(hook); mode != v1alpha1.ResponseUnmarshallModeStrict {
		t.Errorf("the mode is %q", mode)
	}
}

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
	const mustBeAtTheTop = " must be at the top level of the answer, not inside this field"
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
