// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
