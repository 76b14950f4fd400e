// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestAnObjectIsEncodedAsItsBytes(t *testing.T) {
	raw := `{"kind":"Pod","spec":{"b":1,"a":2.50},"metadata":{"name":"<web>"}}`
	encoded, err := json.Marshal(mustParse(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kind":"Pod","spec":{"b":1,"a":2.50},"metadata":{"name":"\u003cweb\u003e"}}`; string(encoded) != want {
		t.Errorf("encoded as %s, want %s", encoded, want)
	}
}

func TestMessagesNameAnObjectByKindNamespaceAndName(t *testing.T) {
	tests := map[string]struct{ raw, want string }{
		"a namespaced object":     {`{"kind":"Pod","metadata":{"namespace":"default","name":"web"}}`, "Pod default/web"},
		"a cluster-scoped object": {`{"kind":"Namespace","metadata":{"name":"web"}}`, "Namespace web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mustParse(t, test.raw).String(); got != test.want {
				t.Errorf("it is called %q, want %q", got, test.want)
			}
		})
	}
}

func TestKey(t *testing.T) {
	want := types.NamespacedName{Namespace: "default", Name: "web"}
	if got := mustParse(t, `{"metadata":{"namespace":"default","name":"web"}}`).Key(); got != want {
		t.Errorf("the key is %v, want %v", got, want)
	}
}

func TestDecodeTellsWholeNumbersFromOthers(t *testing.T) {
	got, err := mustParse(t, `{"whole":10,"large":9007199254740993,"fraction":10.5,"zero":10.0,"exponent":1e3,"metadata":{"name":"web"}}`).Decode()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"whole": int64(10), "large": int64(9007199254740993), "fraction": 10.5, "zero": 10., "exponent": 1000.,
		"metadata": map[string]any{"name": "web"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestDecodeBelongsToItsCaller(t *testing.T) {
	parsed := mustParse(t, `{"metadata":{"name":"web","labels":{"a":"1"}}}`)
	content, err := parsed.Decode()
	if err != nil {
		t.Fatal(err)
	}
	content["metadata"].(map[string]any)["labels"].(map[string]any)["a"] = "2"
	again, err := parsed.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if again["metadata"].(map[string]any)["labels"].(map[string]any)["a"] != "1" || parsed.Labels["a"] != "1" {
		t.Error("a change of the decoded object changed the object")
	}
}

func TestDecodeNamesTheObjectThatItCannotRead(t *testing.T) {
	_, err := mustParse(t, `{"kind":"Pod","metadata":{"namespace":"default","name":"web"},"a":1e999}`).Decode()
	wantError(t, err, "decode Pod default/web: ")
}

// The annotation of what was last applied must be what the original writes, byte by byte.
func TestCanonical(t *testing.T) {
	content := map[string]any{
		"b": []any{int64(1), 1.5, 1e21, 1e-7, 100000.0, true, nil, "x"},
		"a": map[string]any{"Z": "<&>\u2028", "z": "grüße \"\n", "_": map[string]any{}},
	}
	want := `{"a":{"Z":"\u003c\u0026\u003e\u2028","_":{},"z":"grüße \"\n"},"b":[1,1.5,1e+21,1e-7,100000,true,null,"x"]}`
	got, err := Canonical(content)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A Pod that lost its last finalizer stays for its grace period.
func TestAnObjectIsRemovedWithoutFinalizersAndGracePeriod(t *testing.T) {
	const deleted = `"deletionTimestamp":"2026-03-04T05:06:07Z"`
	tests := map[string]struct {
		metadata string
		want     bool
	}{
		"it is not being deleted":             {`"name":"a"`, false},
		"nothing holds it":                    {deleted, true},
		"its grace period is zero":            {deleted + `,"deletionGracePeriodSeconds":0`, true},
		"its grace period is null":            {deleted + `,"deletionGracePeriodSeconds":null`, true},
		"it is in its grace period":           {deleted + `,"deletionGracePeriodSeconds":30`, false},
		"another finalizer holds it":          {deleted + `,"finalizers":["other/one"]`, false},
		"another finalizer holds it, no time": {deleted + `,"deletionGracePeriodSeconds":0,"finalizers":["other/one"]`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stored, err := Parse([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{` + test.metadata + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := stored.IsRemoved(); got != test.want {
				t.Errorf("that it is removed is %v", got)
			}
		})
	}
}
