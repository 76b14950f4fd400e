// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
