// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectsOfAList(t *testing.T) {
	const (
		pod     = `{"kind":"Pod","metadata":{"name":"a","labels":{"a":"1"},"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"}},"x":[{}]}`
		managed = `{"kind":"Pod","metadata":{"name":"b","managedFields":[{"manager":"x"}]}}`
	)
	tests := map[string]struct {
		list string
		want []string // the objects' texts, null for none
	}{
		"no objects":                    {`[]`, nil},
		"null":                          {`null`, nil},
		"objects":                       {`[` + pod + `,` + managed + `,` + pod + `]`, []string{pod, managed, pod}},
		"objects with white space":      {" [ " + pod + " ,\n\t" + managed + " ]", []string{pod, managed}},
		"nulls between":                 {`[null,` + pod + `, null ,` + managed + `]`, []string{"null", pod, "null", managed}},
		"one without anything":          {`[{},{}]`, []string{"{}", "{}"}},
		"nothing is left of the former": {`[` + managed + `,{"kind":"Pod"}]`, []string{managed, `{"kind":"Pod"}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want, got []*Object
			for _, text := range test.want {
				if text == "null" {
					want = append(want, nil)
				} else {
					want = append(want, mustParse(t, text))
				}
			}
			for o, err := range Objects([]byte(test.list)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, o)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Object{})); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectsEndWithTheFirstError(t *testing.T) {
	tests := map[string]struct {
		list, want string
		before     int
	}{
		"no list":           {`{}`, "list: expected a list, found {}", 0},
		"a text":            {`[{},"a",{}]`, `expected an object, found "a"`, 1},
		"a name of no text": {`[{},{},{"metadata":{"name":5}},{}]`, "metadata.name: expected a string, found 5", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			read, failed := 0, ""
			for _, err := range Objects([]byte(test.list)) {
				switch {
				case failed != "":
					t.Error("it goes on after an error")
				case err != nil:
					failed = err.Error()
				default:
					read++
				}
			}
			if read != test.before || failed != test.want {
				t.Errorf("after %d objects the error is %q, want %q after %d", read, failed, test.want, test.before)
			}
		})
	}
}
