// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import "testing"

func TestAReaderKeepsWhatTheManagerApplied(t *testing.T) {
	const fields = `{"f:data":{"f:a":{}}}`
	tests := map[string]struct{ managedFields, want string }{
		"what it applied":                         {`[{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:x":{}}},{"manager":"ours","operation":"Apply","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]`, fields},
		"not what it updated":                     {`[{"manager":"ours","operation":"Update","fieldsV1":` + fields + `},{"manager":"kubectl","operation":"Apply"}]`, ""},
		"not what it applied to the status":       {`[{"manager":"ours","operation":"Apply","fieldsV1":` + fields + `,"subresource":"status"}]`, ""},
		"not what another one with its name does": {`[{"manager":"ours too","operation":"Apply","fieldsV1":` + fields + `,"x":"ours"}]`, ""},
		"nothing there":                           {`[]`, ""},
		"nothing of something else":               {`{"manager":"ours","operation":"Apply"}`, ""},
		"nothing of entries that are none":        {`["ours","Apply"]`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			raw := `{"metadata":{"name":"a","managedFields":` + test.managedFields + `},"data":{"a":"1"}}`
			got, err := NewReader("ours").Parse([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Applied) != test.want || (got.Applied == nil) != (test.want == "") {
				t.Errorf("applied is %q, want %q", got.Applied, test.want)
			}
			unowned := mustParse(t, raw)
			if unowned.Applied != nil || unowned.Hash != got.Hash || string(unowned.JSON()) != string(got.JSON()) {
				t.Errorf("without a manager it is %s, applied %s", unowned.JSON(), unowned.Applied)
			}
		})
	}
}

func TestWhatWasAppliedMayHaveAnotherOwnerOfOurs(t *testing.T) {
	const applied = `{"manager":"ours","operation":"Apply","fieldsV1":{"f:data":{"f:a":{}}}}`
	tests := map[string]struct {
		other string
		want  bool
	}{
		"our updates":           {`{"manager":"metacontroller","operation":"Update","fieldsV1":{"f:data":{"f:a":{}}}}`, true},
		"our updates elsewhere": {`{"manager":"metacontroller","operation":"Update","fieldsV1":{"f:data":{"f:b":{}}}}`, false},
		"our status updates":    {`{"manager":"metacontroller","operation":"Update","subresource":"status","fieldsV1":{"f:data":{"f:a":{}}}}`, false},
		"somebody else":         {`{"manager":"kubectl","operation":"Update","fieldsV1":{"f:data":{"f:a":{}}}}`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := NewReader("ours").Parse([]byte(`{"metadata":{"managedFields":[` + test.other + `,` + applied + `]}}`))
			if err != nil || got.Shared != test.want {
				t.Errorf("shared is %v, want %v (%v)", got.Shared, test.want, err)
			}
		})
	}
}

func TestWhatIsKeptOfManagedFieldsDoesNotKeepTheRest(t *testing.T) {
	raw := []byte(`{"metadata":{"managedFields":[{"manager":"ours","operation":"Apply","fieldsV1":{"f:a":{}}}]}}`)
	got, err := NewReader("ours").Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if string(got.Applied) != `{"f:a":{}}` {
		t.Errorf("applied is %q", got.Applied)
	}
}
