// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func content(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var result map[string]any
	if err := utiljson.Unmarshal(raw, &result); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return result
}

func TestExtract(t *testing.T) {
	tests := map[string]struct{ fields, from, want string }{
		"nothing of what is not named": {`{"f:data":{"f:a":{}}}`, `{data: {a: 1, b: 2}, spec: {}}`, `{data: {a: 1}}`},
		"all of a field below which nothing is named": {
			`{"f:spec":{"f:selector":{},"f:command":{}}}`, `{spec: {selector: {a: b, c: d}, command: [x, y], replicas: 1}}`, `{spec: {selector: {a: b, c: d}, command: [x, y]}}`,
		},
		"a field that is named itself and by parts":                {`{"f:labels":{".":{},"f:a":{}}}`, `{labels: {a: "1", b: "2"}}`, `{labels: {a: "1"}}`},
		"a field that is named itself and whose parts are others'": {`{"f:labels":{".":{}}}`, `{labels: {b: "2"}}`, `{labels: {b: "2"}}`},
		"a field that is not there":                                {`{"f:data":{"f:a":{},"f:gone":{}},"f:emptied":{}}`, `{data: {a: 1}}`, `{data: {a: 1}}`},
		"a field of another kind than is named":                    {`{"f:data":{"f:a":{"f:b":{}}}}`, `{data: {a: 1}}`, `{data: {a: 1}}`},
		"items of a list by their keys": {
			`{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}}}}`,
			`{ports: [{name: t, port: 80, protocol: TCP, targetPort: 80}, {port: 81, protocol: TCP}, {name: u, port: 80, protocol: UDP, targetPort: 80}]}`,
			`{ports: [{name: t, port: 80}, {port: 80, protocol: UDP}]}`,
		},
		"a whole item of a list": {
			`{"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}`, `{ownerReferences: [{uid: other, kind: A}, {uid: u, kind: B}]}`, `{ownerReferences: [{uid: u, kind: B}]}`,
		},
		"items of a set":              {`{"f:finalizers":{"v:\"a/b\"":{},"v:\"gone\"":{}}}`, `{finalizers: [c/d, a/b]}`, `{finalizers: [a/b]}`},
		"a key that is a number":      {`{"f:list":{"k:{\"size\":1.5}":{"f:size":{}}}}`, `{list: [{size: 1.5, x: 1}, {size: 2}]}`, `{list: [{size: 1.5}]}`},
		"nothing of an index":         {`{"f:list":{"i:0":{}}}`, `{list: [a]}`, `{list: []}`},
		"nothing of no fields":        {`{}`, `{a: 1}`, `{}`},
		"items that are no objects":   {`{"f:list":{"k:{\"name\":\"a\"}":{}}}`, `{list: [a, null, 1]}`, `{list: []}`},
		"a null":                      {`{"f:a":{},"f:b":{"f:c":{}}}`, `{a: null, b: null}`, `{a: null, b: null}`},
		"a name that needs escaping":  {`{"f:data":{"f:a.b/\"c\"":{}}}`, `{data: {'a.b/"c"': 1, d: 2}}`, `{data: {'a.b/"c"': 1}}`},
		"nested lists in their order": {`{"f:c":{"k:{\"name\":\"w\"}":{"f:e":{"k:{\"name\":\"a\"}":{"f:name":{},"f:v":{}}}},"k:{\"name\":\"x\"}":{"f:name":{}}}}`, `{c: [{name: x}, {name: w, e: [{name: b, v: 2}, {name: a, v: 1}]}]}`, `{c: [{name: x}, {e: [{name: a, v: 1}]}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Extract([]byte(test.fields), content(t, test.from))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content(t, test.want), got); diff != "" {
				t.Errorf("extracted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExtractOfNothingKnown(t *testing.T) {
	if got, err := Extract(nil, content(t, `{a: 1}`)); err != nil || got == nil || len(got) > 0 {
		t.Errorf("extracted %v, %v", got, err)
	}
	if _, err := Extract([]byte(`{"f:a":`), nil); err == nil {
		t.Error("fields that are cut off are read")
	}
}

func TestOverlap(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"a field":                             {`{"f:data":{"f:a":{},"f:b":{}}}`, `{"f:data":{"f:b":{},"f:c":{}}}`, true},
		"a field and what is below it":        {`{"f:data":{".":{}}}`, `{"f:data":{"f:a":{}}}`, false},
		"a list item":                         {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:x":{}}}}`, `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:y":{}}}}`, true},
		"other fields of a list item":         {`{"f:l":{"k:{\"name\":\"a\"}":{"f:x":{}}}}`, `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:y":{}}}}`, false},
		"an owner alone":                      {`{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}}}`, `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}}}`, false},
		"a label beside an owner":             {`{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`, `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`, true},
		"nothing":                             {`{"f:a":{}}`, `{"f:b":{}}`, false},
		"nothing that is known of a broken a": {`{"f:a":`, `{"f:a":{}}`, false},
		"nothing that is known of a broken b": {`{"f:a":{}}`, `{"f:a":`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Overlap([]byte(test.a), []byte(test.b)); got != test.want {
				t.Errorf("they overlap: %v", got)
			}
		})
	}
}

func TestWhatAnApplyChangesAboutOwners(t *testing.T) {
	const (
		a       = `{"f:data":{"f:a":{}}}`
		ab      = `{"f:data":{"f:a":{},"f:b":{}}}`
		theirs  = `{"manager":"theirs","operation":"Update","fieldsV1":`
		applied = `{"manager":"ours","operation":"Apply","fieldsV1":`
		updated = `{"manager":"ours","operation":"Update","fieldsV1":`
	)
	tests := map[string]struct {
		before, after, entries string
		differs, drops, kept   bool
	}{
		"nothing":                                      {ab, ab, theirs + ab + `}`, false, false, false},
		"nothing of nothing":                           {``, ``, ``, false, false, false},
		"the same in another order":                    {ab, `{"f:data":{"f:b":{},"f:a":{}}}`, ``, false, false, false},
		"more is owned":                                {a, ab, theirs + ab + `}`, true, false, false},
		"all is owned that was not":                    {``, ab, theirs + ab + `}`, true, false, false},
		"a field is dropped that nobody else owns":     {ab, a, applied + ab + `},` + theirs + a + `}`, true, true, false},
		"a field is dropped that another owns":         {ab, a, applied + ab + `},` + theirs + ab + `}`, true, true, true},
		"a field is dropped that another has applied":  {ab, a, `{"manager":"theirs","operation":"Apply","fieldsV1":` + ab + `}`, true, true, true},
		"a field is dropped that our updates own":      {ab, a, updated + ab + `}`, true, true, true},
		"all is dropped":                               {ab, ``, theirs + a + `}`, true, true, true},
		"an entry without fields":                      {ab, a, `{"manager":"theirs","operation":"Update"}`, true, true, false},
		"the map around a field":                       {`{"f:data":{".":{},"f:a":{}}}`, a, theirs + `{"f:data":{".":{},"f:c":{}}}}`, true, false, false},
		"a map with the only field in it":              {`{"f:data":{".":{},"f:a":{}}}`, `{}`, theirs + `{"f:data":{".":{},"f:c":{}}}}`, true, true, false},
		"a map that was empty and that others fill":    {`{"f:data":{".":{}}}`, `{}`, theirs + `{"f:data":{".":{},"f:c":{}}}}`, true, true, false},
		"a list that is one value":                     {`{"f:command":{}}`, `{}`, theirs + `{"f:command":{}}}`, true, true, true},
		"an item of which another owns the same field": {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:x":{}}}}`, `{}`, theirs + `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:y":{}}}}}`, true, true, true},
		"an item of which another owns another field":  {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:x":{}}}}`, `{}`, theirs + `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:y":{}}}}}`, true, true, false},
		"a value of a set":                             {`{"f:finalizers":{"v:\"x\"":{}}}`, `{}`, theirs + `{"f:finalizers":{".":{},"v:\"x\"":{}}}}`, true, true, true},
	}
	fields := func(text string) []byte {
		if text == "" {
			return nil
		}
		return []byte(text)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change, err := ChangeOf(fields(test.before), fields(test.after))
			if err != nil {
				t.Fatal(err)
			}
			if change.Differs != test.differs || change.Drops() != test.drops {
				t.Errorf("it differs: %v, drops: %v, want %v and %v", change.Differs, change.Drops(), test.differs, test.drops)
			}
			var entries []metav1.ManagedFieldsEntry
			if err := json.Unmarshal([]byte("["+test.entries+"]"), &entries); err != nil {
				t.Fatal(err)
			}
			if kept, err := change.KeptByOthers("ours", entries); err != nil || kept != test.kept {
				t.Errorf("others keep it: %v, want %v, error %v", kept, test.kept, err)
			}
		})
	}
}

func TestOwnersThatCannotBeRead(t *testing.T) {
	const fields, broken = `{"f:a":{}}`, `{"f:a":`
	for _, sets := range [][2]string{{fields, broken}, {broken, fields}} {
		if _, err := ChangeOf([]byte(sets[0]), []byte(sets[1])); err == nil {
			t.Errorf("the change from %s to %s is read", sets[0], sets[1])
		}
	}
	change, err := ChangeOf([]byte(fields), nil)
	if err != nil {
		t.Fatal(err)
	}
	var entry metav1.ManagedFieldsEntry
	if err := json.Unmarshal([]byte(`{"manager":"theirs","operation":"Update","fieldsV1":{"f:a":1}}`), &entry); err != nil {
		t.Fatal(err)
	}
	if _, err := change.KeptByOthers("ours", []metav1.ManagedFieldsEntry{entry}); err == nil {
		t.Error("fields that are no set are read")
	}
}
