// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	const raw = `{"a":{"b":{"c":[1, 2]},"d":null},"e":"text","f":{"g":1},"f":{"h":2},"\u0069":{"a.b":true}}`
	tests := map[string]struct {
		path []string
		want string
	}{
		"nothing is the object itself":     {nil, raw},
		"a member":                         {[]string{"e"}, `"text"`},
		"a member far below, byte by byte": {[]string{"a", "b", "c"}, `[1, 2]`},
		"an object":                        {[]string{"a", "b"}, `{"c":[1, 2]}`},
		"a null":                           {[]string{"a", "d"}, `null`},
		"a name with an escape":            {[]string{"i"}, `{"a.b":true}`},
		"a name with a dot":                {[]string{"i", "a.b"}, `true`},
		"of a repeated name the last":      {[]string{"f", "h"}, `2`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(Lookup([]byte(raw), test.path...)); got != test.want {
				t.Errorf("found %s, want %s", got, test.want)
			}
		})
	}
}

func TestLookupFindsNothing(t *testing.T) {
	tests := map[string]struct {
		raw  string
		path []string
	}{
		"where there is no such member":            {`{"a":1}`, []string{"b"}},
		"where there is no such member below":      {`{"a":{"b":1}}`, []string{"a", "c"}},
		"below text":                               {`{"a":"b"}`, []string{"a", "b"}},
		"below a null":                             {`{"a":null}`, []string{"a", "b"}},
		"below a list":                             {`{"a":[{"b":1}]}`, []string{"a", "b"}},
		"in the first of two members of that name": {`{"a":{"b":1},"a":{}}`, []string{"a", "b"}},
		"in nothing":                               {``, []string{"a"}},
		"in broken JSON":                           {`{"a":1,`, []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if found := Lookup([]byte(test.raw), test.path...); found != nil {
				t.Errorf("found %s", found)
			}
		})
	}
}

func TestAnObjectIsLookedUpWithoutItsManagedFields(t *testing.T) {
	parsed := mustParse(t, `{"metadata":{"managedFields":[1],"name":"web"},"status":{"ready":true}}`)
	if got := string(parsed.Lookup("status", "ready")); got != "true" {
		t.Errorf("status.ready is %q", got)
	}
	if found := parsed.Lookup("metadata", "managedFields"); found != nil {
		t.Errorf("managedFields are %s", found)
	}
}

func TestElements(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want []string
		err  string
	}{
		"a list in its order":        {raw: ` [1, "b" ,{"c": [2]},null ] `, want: []string{`0 1`, `1 "b"`, `2 {"c": [2]}`, `3 null`}},
		"an empty list":              {raw: `[]`},
		"a null is an empty list":    {raw: `null`},
		"an object":                  {raw: `{"a":1}`, err: `expected a list, found {"a":1}`},
		"text":                       {raw: `"a"`, err: `expected a list, found "a"`},
		"nothing":                    {raw: ``, err: "EOF"},
		"half a list":                {raw: `[1,`, want: []string{`0 1`}, err: "unexpected EOF"},
		"a list closed by a bracket": {raw: `[1}`, want: []string{`0 1`}, err: "invalid character '}'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := Elements([]byte(test.raw), func(index int, element []byte) error {
				got = append(got, fmt.Sprintf("%d %s", index, element))
				return nil
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("visited (-want +got):\n%s", diff)
			}
			wantError(t, err, test.err)
		})
	}
}

func TestMembers(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want []string
		err  string
	}{
		"an object in its order": {
			raw:  ` {"b": 1 ,"a":[1, 2],"c":{},"b":null} `,
			want: []string{`b 1`, `a [1, 2]`, `c {}`, `b null`},
		},
		"names with escapes":            {raw: `{"\u0061\"\n":1}`, want: []string{"a\"\n 1"}},
		"an empty object":               {raw: `{}`},
		"a null":                        {raw: `null`, err: "expected an object, found null"},
		"a list":                        {raw: `[1]`, err: "expected an object, found [1]"},
		"nothing":                       {raw: ``, err: "EOF"},
		"half an object":                {raw: `{"a":1,"b":`, want: []string{"a 1"}, err: "unexpected EOF"},
		"something behind the object":   {raw: `{"a":1}}`, want: []string{"a 1"}, err: `"}" follows the end of the object`},
		"a value that is broken inside": {raw: `{"a":1,"b":[1 2]}`, want: []string{"a 1"}, err: "invalid character '2'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := Members([]byte(test.raw), func(name string, value []byte) error {
				got = append(got, name+" "+string(value))
				return nil
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("visited (-want +got):\n%s", diff)
			}
			wantError(t, err, test.err)
		})
	}
}

func TestVisitsEndWithTheVisitorsError(t *testing.T) {
	enough := errors.New("enough")
	visits := 0
	if err := Elements([]byte(`[1,2]`), func(int, []byte) error { visits++; return enough }); !errors.Is(err, enough) {
		t.Errorf("Elements returned %v", err)
	}
	if err := Members([]byte(`{"a":1,"b":2}`), func(string, []byte) error { visits++; return enough }); !errors.Is(err, enough) {
		t.Errorf("Members returned %v", err)
	}
	if visits != 2 {
		t.Errorf("there were %d visits, want one each", visits)
	}
}

func TestWithMember(t *testing.T) {
	tests := map[string]struct{ raw, want string }{
		"a member that is not there comes last": {`{"a":1,"b":{"c": 2}}`, `{"a":1,"b":{"c": 2},"status":{"x":1}}`},
		"a member that is there is replaced":    {`{"status":{"y":2},"a":1}`, `{"a":1,"status":{"x":1}}`},
		"all members of the name are replaced":  {`{"status":1,"a":1,"status":2}`, `{"a":1,"status":{"x":1}}`},
		"an empty object":                       {`{}`, `{"status":{"x":1}}`},
		"names that need escapes keep them":     {`{"\"":1,"\u0061\n":2}`, `{"\"":1,"a\n":2,"status":{"x":1}}`},
		"the same name further below stays":     {`{"a":{"status":1}}`, `{"a":{"status":1},"status":{"x":1}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := WithMember([]byte(test.raw), "status", []byte(`{"x":1}`))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestWithMemberTakesAMemberAway(t *testing.T) {
	for raw, want := range map[string]string{
		`{"status":{"y":2},"a": 1.50}`:       `{"a":1.50}`,
		`{"status":1,"a":1,"st\u0061tus":2}`: `{"a":1}`,
		`{"a":{"status":1}}`:                 `{"a":{"status":1}}`,
		`{"status":null}`:                    `{}`,
	} {
		if got, err := WithMember([]byte(raw), "status", nil); err != nil || string(got) != want {
			t.Errorf("%s becomes %s with error %v, want %s", raw, got, err, want)
		}
	}
}

func TestWithMemberNeedsAnObject(t *testing.T) {
	for _, raw := range []string{"", "null", "[]", `"a"`, `{"a":1`, `{"a":1}}`} {
		if got, err := WithMember([]byte(raw), "status", []byte("1")); err == nil {
			t.Errorf("%q became %s", raw, got)
		}
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error: %v", err)
	case want != "" && err == nil:
		t.Errorf("there is no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error is %q, want it to say %q", err, want)
	}
}

// walked are the paths that Walk comes to in a value. It does not read below members whose names begin
// with "skip". What is known of a value is how deep it is.
func walked(t *testing.T, raw string) (paths []string) {
	t.Helper()
	err := Walk([]byte(raw), 0, func(depth int, name []byte, path func() string) (int, bool) {
		paths = append(paths, path())
		return depth + 1, string(name) != "skip"
	}, func(depth int) (int, bool) { return depth + 1, depth < 4 })
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestWalk(t *testing.T) {
	for name, test := range map[string]struct {
		raw  string
		want []string
	}{
		"an object":               {`{"a":1,"b":null}`, []string{"a", "b"}},
		"an object in an object":  {`{"a":{"b":{"c":1}},"d":2}`, []string{"a", "a.b", "a.b.c", "d"}},
		"objects in lists":        {`{"a":[{"b":1},{"c":[{"d":1}]}]}`, []string{"a", "a[0].b", "a[1].c", "a[1].c[0].d"}},
		"lists in lists":          {`[[{"a":1}],[{"b":1}]]`, []string{"[0][0].a", "[1][0].b"}},
		"what is not read":        {`{"skip":{"a":[1]},"b":{"skip":[{"c":1}],"d":1}}`, []string{"skip", "b", "b.skip", "b.d"}},
		"a list that is not read": {`{"a":{"b":{"c":{"d":[{"e":1}]}}},"f":1}`, []string{"a", "a.b", "a.b.c", "a.b.c.d", "f"}},
		"names that are escaped":  {`{"a/~":{"\u0062":1},"größe":{"c":1}}`, []string{"a/~", "a/~.b", "größe", "größe.c"}},
		"a number as a name":      {`{"0":{"1":[{"2":0}]}}`, []string{"0", "0.1", "0.1[0].2"}},
		"no object":               {`"a"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, walked(t, test.raw)); diff != "" {
				t.Errorf("walked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWalkReportsBrokenJSON(t *testing.T) {
	into := func(int, []byte, func() string) (int, bool) { return 0, true }
	if err := Walk([]byte(`{"a":{"b":}}`), 0, into, func(int) (int, bool) { return 0, true }); err == nil {
		t.Error("there is no error")
	}
}
