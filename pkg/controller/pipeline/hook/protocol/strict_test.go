// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
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
